"""Model servers, spoken to over HTTP; knows nothing of Home Assistant."""
