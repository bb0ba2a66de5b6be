"""Tools that a household writes into `configuration.yaml`."""
