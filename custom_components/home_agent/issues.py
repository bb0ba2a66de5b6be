"""Repair issues: what the household is told in Settings, Repairs."""

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir

from .const import DOMAIN


@callback
def report(
    hass: HomeAssistant,
    issue_id: str,
    key: str,
    /,
    *,
    severity: ir.IssueSeverity = ir.IssueSeverity.WARNING,
    persistent: bool = False,
    **placeholders: str,
) -> None:
    """Raise or renew an issue; `key` is that of its sentences, `persistent` keeps it over a restart."""
    ir.async_create_issue(
        hass,
        DOMAIN,
        issue_id,
        is_fixable=False,
        is_persistent=persistent,
        severity=severity,
        translation_key=key,
        translation_placeholders=placeholders,
    )


@callback
def withdraw(hass: HomeAssistant, issue_id: str) -> None:
    """Take an issue back; none there is no error."""
    ir.async_delete_issue(hass, DOMAIN, issue_id)
