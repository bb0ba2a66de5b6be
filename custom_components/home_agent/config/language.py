"""The language of the person who fills in a form."""

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant
from homeassistant.generated.languages import LANGUAGES
from homeassistant.helpers.http import current_request
from homeassistant.util.language import matches

FRONTEND = "frontend"


async def async_language(hass: HomeAssistant) -> str:
    """Return the language in which a form is read: that of the profile, else that of the browser.

    Outside of a request, and for a language that Home Assistant does not have, it is that of the home.
    """
    request = current_request.get()
    if request is None:
        return hass.config.language
    user: User | None = request.get("hass_user")
    if user is not None and FRONTEND in hass.config.components:
        from homeassistant.components.frontend.storage import async_user_store  # noqa: PLC0415

        chosen = (await async_user_store(hass, user.id)).data.get("language")
        if isinstance(chosen, dict) and isinstance(language := chosen.get("language"), str):
            return language
    accepted = request.headers.get("Accept-Language", "").split(",")[0].split(";")[0].strip()
    if accepted in ("", "*"):
        return hass.config.language
    return next(iter(matches(accepted, LANGUAGES, hass.config.country)), hass.config.language)
