"""Which languages are translated, and how much of them."""

WHOLE = ["da", "de", "en", "es", "fr", "it", "nb", "nl", "pl", "pt", "ru", "sv"]
"""Languages in which the pages of the settings and the panel are written as well."""

VARIANTS = ["es-419", "pt-BR"]
"""Variants of whole languages; `scripts/variants` writes them."""

SPOKEN = ["cs", "fi", "hu", "ja", "ko", "tr", "uk", "zh-Hans"]
"""Languages that have what Home Agent says; Home Assistant shows the rest in English."""
