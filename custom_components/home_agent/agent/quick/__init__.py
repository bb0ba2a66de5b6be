"""Confirmations of plain commands in sentences of Home Agent's own, without another request to the model."""
