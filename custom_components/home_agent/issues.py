"""Repair issues: what the user is shown in Settings, Repairs."""

from collections.abc import Mapping

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir

from .const import DOMAIN
from .texts import without_embeds


@callback
def report(
    hass: HomeAssistant,
    issue_id: str,
    key: str,
    /,
    *,
    severity: ir.IssueSeverity = ir.IssueSeverity.WARNING,
    persistent: bool = False,
    fix: Mapping[str, str] | None = None,
    **placeholders: str,
) -> None:
    """Raise or renew an issue; `key` is that of its sentences, `persistent` keeps it over a restart.

    `fix` is what repairs.py needs to fix it on a click; without it a person has to.
    """
    ir.async_create_issue(
        hass,
        DOMAIN,
        issue_id,
        data=None if fix is None else dict(fix),
        is_fixable=fix is not None,
        is_persistent=persistent,
        severity=severity,
        translation_key=key,
        translation_placeholders={name: without_embeds(text) for name, text in placeholders.items()},
    )


@callback
def withdraw(hass: HomeAssistant, issue_id: str) -> None:
    """Withdraw an issue, if it exists."""
    ir.async_delete_issue(hass, DOMAIN, issue_id)


@callback
def withdraw_all(hass: HomeAssistant, entry_id: str) -> None:
    """Take back what is said of an agent that is removed."""
    for issue in list(ir.async_get(hass).issues.values()):
        if issue.domain == DOMAIN and issue.data and issue.data.get("entry_id") == entry_id:
            withdraw(hass, issue.issue_id)
