"""The languages in which only the spoken sentences are translated."""

SPOKEN = ["cs", "da", "fi", "hu", "it", "ja", "ko", "nb", "pl", "pt", "ru", "sv", "tr", "uk", "zh-Hans"]


"""Languages that have what Home Agent says; Home Assistant shows the rest in English."""
