"""Commands for later: kept over a restart, and handed out when they are due."""
