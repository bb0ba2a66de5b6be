"""Tests of Home Agent."""
