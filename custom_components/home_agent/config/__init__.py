"""The pages of the config flow."""
