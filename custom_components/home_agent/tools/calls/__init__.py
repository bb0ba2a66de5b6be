"""Calls as models write them: read, repaired where the meaning stays, checked."""
