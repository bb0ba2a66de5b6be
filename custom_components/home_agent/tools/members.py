"""Who speaks: the user, and whether they belong to the household."""

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant

from ..errors import NotPermitted
from ..knowledge.speaker import USER_PREFIX, Speaker


async def async_is_member(hass: HomeAssistant, speaker: Speaker) -> bool:
    """Return whether a person of the household speaks, or an administrator; not an automation.

    An unknown voice may be a guest, and so may a user without a person.
    """
    if speaker.is_automation:
        return False
    if speaker.person_id is not None and not speaker.person_id.startswith(USER_PREFIX):
        return True
    user_id = speaker.context.user_id
    user = await hass.auth.async_get_user(user_id) if user_id else None
    return user is not None and user.is_active and user.is_admin


async def async_active_user(hass: HomeAssistant, speaker: Speaker) -> User | None:
    """Return the Home Assistant user who speaks; None for a satellite or an automation.

    Raises NotPermitted for a user who no longer exists or switched off.
    """
    if speaker.context.user_id is None:
        return None
    user = await hass.auth.async_get_user(speaker.context.user_id)
    if user is None or not user.is_active:
        raise NotPermitted("The user is unknown or not active")
    return user
