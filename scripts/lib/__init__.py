"""What the commands and the end-to-end tests share."""
