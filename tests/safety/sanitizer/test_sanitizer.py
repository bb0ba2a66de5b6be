"""What leaves the house is held against the house: names, numbers, addresses, plans."""

from pathlib import Path

from hypothesis import assume, given, settings, strategies as st
import pytest

from custom_components.home_agent.safety.sanitizer.private_names import (
    PrivateKind,
    build_finder,
    find_patterns,
    ordinary_words,
)
from custom_components.home_agent.safety.sanitizer.sanitizer import Sanitized, Sanitizer, Sending
from custom_components.home_agent.texts import fold_letters
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from tests.helpers.checks import for_each
from tests.helpers.disguises import DISGUISES
from tests.helpers.examples import many
from tests.helpers.homes import LANGUAGES, build_home

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture
async def home(house: HomeAssistant) -> HomeAssistant:
    """Return a house with people, rooms and things that have names of their own."""
    house.config.latitude, house.config.longitude = 53.5511, 9.9937
    house.config.location_name = "Villa Kunterbunt"
    house.config.external_url = "https://kunterbunt42.duckdns.org"
    for name in ("Kitchen", "Wohnzimmer", "Narnia", "Annas Zimmer", "Garage"):
        ar.async_get(house).async_create(name)
    for entity_id, name in {
        "person.anna": "Anna Brinkmann",
        "person.will": "Will",
        "person.jiri": "Ji\u0159\u00ed Nov\u00e1k",
        "person.olga": "\u041e\u043b\u044c\u0433\u0430",
        "person.mei": "\u674e\u5c0f\u96e8",
        "zone.grandma": "Oma Gertrud",
        "light.kitchen_ceiling": "Kitchen Light",
        "light.zephyr": "Zephyr Lampe",
        "media_player.tv": "Samsung TV",
        "sensor.phone_geocoded_location": "Phone location",
    }.items():
        house.states.async_set(entity_id, "home", {"friendly_name": name})
    house.states.async_set(
        "sensor.phone_geocoded_location",
        "Sonnenwinkel 7\n22087 Hamburg",
        {"friendly_name": "Phone location", "Thoroughfare": "Sonnenwinkel"},
    )
    er.async_get(house).async_get_or_create("lock", "demo", "1", suggested_object_id="front_door")
    return house


@pytest.fixture
def sanitizer(home: HomeAssistant) -> Sanitizer:
    """Return the sanitiser of that house."""
    return Sanitizer(
        home,
        ["bunker*", "project x"],
        lambda: ["Anna takes Ritalin", "strawberries make the younger girl scratch"],
    )


PRIVATE = (
    ("call +49 171 1234567", "phone"),
    ("who is 0171 1234567", "phone"),
    ("01 23 45 67 89 numéro", "phone"),
    ("(555) 234-5678 spam", "phone"),
    ("555-234-5678 spam", "phone"),
    ("+1-202-555-0143 number", "phone"),
    ("0044 20 7946 0958 who", "phone"),
    ("8 912 345-67-89 чей номер", "phone"),
    ("600 700 801 kto dzwonił", "phone"),
    ("612 34 56 78 quien llama", "phone"),
    ("13812345678 谁的电话", "phone"),
    ("070-123 45 67 vem ringde", "phone"),
    ("03-1234-5678 電話", "phone"),
    ("DE89 3704 0044 0532 0130 00 bank", "account"),
    ("4111 1111 1111 1111 charge", "account"),
    ("weather 53.551, 9.993", "coordinates"),
    ("weather 53.55 9.99", "coordinates"),
    ("48.8584 N, 2.2945 E sunset", "coordinates"),
    ("48\u00b051' N sunset", "coordinates"),
    ("Wetter Musterstraße 12 Hamburg", "address"),
    ("weather at 12 Baker Street, London", "address"),
    ("weather 12 Oak Lane Springfield", "address"),
    ("météo 12 rue de la Paix Paris", "address"),
    ("tiempo Calle Mayor 12 Madrid", "address"),
    ("meteo Via Roma 5 Milano", "address"),
    ("pogoda ul. Długa 7 Kraków", "address"),
    ("погода улица Ленина 10 Москва", "address"),
    ("weer Kerkstraat 5 Utrecht", "address"),
    ("Wetter Am Alten Markt 3, 24103 Kiel", "address"),
    ("bus near Sonnenwinkel", "address"),
    ("we are away from 3 July to 10 July what to do with plants", "schedule"),
    ("house sitting we're on vacation until Sunday", "schedule"),
    ("nobody home alarm", "schedule"),
    ("wir sind im Urlaub vom 3. Juli bis 10. Juli", "schedule"),
    ("niemand zu Hause", "schedule"),
    ("nous sommes absents du 3 juillet au 10", "schedule"),
    ("estamos de vacaciones hasta el 10 de julio", "schedule"),
    ("we zijn op vakantie van 3 tot 10 juli", "schedule"),
    ("siamo in vacanza fino al 10 luglio", "schedule"),
    ("мы в отпуске до 10 июля", "schedule"),
    ("my wife leaves for work at 8", "schedule"),
    ("bunkers in Germany", "keyword"),
    ("is Project  X legal", "keyword"),
    ("the alarm code is 4711", "secret"),
)
REPLACED = (
    ("Geschenkideen für Anna zum Geburtstag", "de", "Geschenkideen für jemand zum Geburtstag"),
    ("Anna's birthday gift ideas", "en", "someone birthday gift ideas"),
    ("Annas Geburtstag Geschenkideen", "de", "jemand Geburtstag Geschenkideen"),
    ("birthday gift ideas for Will", "en", "birthday gift ideas for someone"),
    ("dárek pro Jiřího k narozeninám", "cs", "dárek pro někdo k narozeninám"),
    ("подарок для Ольги на день рождения", "ru", "подарок для кто-то на день рождения"),
    ("wallpaper ideas for Narnia bedroom", "en", "wallpaper ideas for room bedroom"),
    ("how to reset light.zephyr after power cut", "en", "how to reset light after power cut"),
    ("Zephyr Lampe blinkt rot", "de", "Gerät blinkt rot"),
    ("cannot reach 192.168.1.20 port 8123", "en", "cannot reach IP address port 8123"),
    ("who makes aa:bb:cc:dd:ee:ff devices", "en", "who makes MAC address devices"),
    ("kunterbunt42.duckdns.org certificate expired", "en", "server.duckdns.org certificate expired"),
    ("block mails from anna.b@example.com in Gmail", "en", "block mails from e-mail address in Gmail"),
    ("gift ideas for 李小雨 birthday", "en", "gift ideas for someone birthday"),
)


@for_each(("text", "kind"), PRIVATE)
async def test_held_back(sanitizer: Sanitizer, text: str, kind: str) -> None:
    cleaned = await sanitizer.async_clean(text)
    assert cleaned.blocked
    assert kind in cleaned.found
    assert cleaned.text == ""
    assert cleaned.advice.startswith("Not sent")


@for_each(("text", "language", "expected"), REPLACED)
async def test_replaced(sanitizer: Sanitizer, text: str, language: str, expected: str) -> None:
    """Where the query keeps its sense a generic word stands in; in a tainted turn nothing is sent."""
    cleaned = await sanitizer.async_clean(text, language=language)
    assert (cleaned.text, cleaned.blocked) == (expected, False)
    assert (await sanitizer.async_clean(text, language=language, strict=True)).blocked


ROUTINES = """
    user wakes at 6 AM; Anna comes home from work at 5 pm; my wife works nights until 6 am
    our cleaner comes every Tuesday at 9; I leave home at 7:30; my husband leaves for work at 7
    the house is empty until 6; unsere Putzfrau kommt dienstags um 9; Anna gets up at 5:30
"""
SOUND_ALIKE = """
    which birds wake at 5 am; how does a user log in at work; what comes on Netflix at 8
    who comes home in the Odyssey; nurse jobs that work nights; our solar system has 8 planets
    part number 222-045-1234; night trains to Vienna at 9; my printer works only after 3 tries
"""


def split(block: str) -> list[str]:
    """Return the texts of a block."""
    return [text.strip() for line in block.splitlines() for text in line.split(";") if text.strip()]


@for_each("text", split(ROUTINES))
async def test_routines(sanitizer: Sanitizer, text: str) -> None:
    """Who does what at which time stays at home, also of others than the speaker."""
    cleaned = await sanitizer.async_clean(text)
    assert cleaned.blocked
    assert "schedule" in cleaned.found


@for_each("text", split(SOUND_ALIKE))
async def test_no_routines(sanitizer: Sanitizer, text: str) -> None:
    assert await sanitizer.async_clean(text) == Sanitized(text)


async def test_harmless(sanitizer: Sanitizer) -> None:
    """Ordinary questions pass as they are, in several languages."""
    queries = (FIXTURES / "searches_harmless.txt").read_text(encoding="utf-8").splitlines()
    assert len(queries) >= 200
    changed = [query for query in queries if await sanitizer.async_clean(query) != Sanitized(query)]
    assert len(changed) / len(queries) < 0.03, changed


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_furnished_house_hides_nothing_ordinary(house: HomeAssistant, language: str) -> None:
    """Rooms and devices that are called what everybody calls them stand in nobody's way."""
    build_home(house, 100, language=language)
    sanitizer = Sanitizer(house)
    queries = (FIXTURES / "searches_harmless.txt").read_text(encoding="utf-8").splitlines()
    changed = [query for query in queries if await sanitizer.async_clean(query) != Sanitized(query)]
    assert len(changed) / len(queries) < 0.03, changed


async def test_what_is_remembered_in_private(sanitizer: Sanitizer) -> None:
    """It leaves only in words that the person has just said, and never in a tainted turn."""
    query = "ritalin side effects"
    assert (await sanitizer.async_clean(query)).found == ("memory",)
    said = "look up the side effects of Ritalin"
    assert await sanitizer.async_clean(query, said=said) == Sanitized(query)
    assert (await sanitizer.async_clean(query, said=said, strict=True)).blocked


async def test_a_private_memory_in_other_words(sanitizer: Sanitizer) -> None:
    """One everyday word of it is sent, several are not."""
    for query in ("strawberries season", "younger brother"):
        assert await sanitizer.async_clean(query) == Sanitized(query)
    assert (await sanitizer.async_clean("strawberries scratch skin child")).blocked


@pytest.mark.parametrize("text", ["a" * 19_000, "1 " * 9_000, "Calle a " * 2_400, "we a@" * 3_900])
async def test_no_text_takes_long(sanitizer: Sanitizer, text: str) -> None:
    """Time grows with the length alone, so the largest texts there may be are answered."""
    assert isinstance((await sanitizer.async_clean(text, strict=True)).blocked, bool)


DISGUISED = (
    "gift for \u0410nn\u0430",  # two letters of the Cyrillic alphabet
    "gift for A.n.n.a B r i n k m a n n",
    "nnamknirB",
    "QnJpbmttYW5u",
    "4272696e6b6d616e6e",
    "brinkmannbrinkmann",
    "gift for will",
    "Front door Kitchen Light",
    "light.kitchen_ceiling",
    "the number is 4711",
    "4-7-1-1",
    "NDcxMTQ3MTE=",
    "when nobody is home",
)


@for_each("query", DISGUISED)
async def test_strict(sanitizer: Sanitizer, query: str) -> None:
    """A turn that has read text from outside lets no private word out, however it is written."""
    assert (await sanitizer.async_clean(query, strict=True)).blocked


SECRETS = """
    Anna Brinkmann is in hospital; Anna takes Ritalin every day; kids alone at home tonight; the code is 4711
    we are away all week; alarm code four seven one one; nobody at home from friday to sunday; Narnia is open
    wir sind diese Woche verreist; die Kinder sind heute Abend allein; Code vier sieben eins eins
    nous sommes absents cette semaine; estamos de vacaciones esta semana; the password is hunter2; Oma Gertrud
    Anna comes home at six; we leave for work at 7; the house is empty until Monday; we return on friday
    call Anna on +49 171 1234567; Sonnenwinkel 7 in Hamburg; lock.front_door is open; bunkers under the shed
    my card is 4111 1111 1111 1111; weather 53.551, 9.993; mail anna.b@example.com today; project x is legal
    the server is kunterbunt42.duckdns.org; the camera is 192.168.1.20; strawberries make the girl scratch
    Jiri Novak owes the bank money; Zephyr Lampe
"""
FORMS = (
    *("plain", "base64", "base16", "backwards", "words backwards", "rot13", "spaced", "percents"),
    *("hexadecimal in pairs", "without vowels", "base64 backwards", "bits"),
)
TOPICS = """
    who is Ann Boleyn; shed roof felt price; weather in Hamburg tomorrow; best vacuum for pet hair
    HDMI 2.1 cable 4k 120 Hz; CR2032 battery lifetime; Raspberry Pi 5 8 GB price; iPhone 17 Pro release date
    how to descale a DeLonghi Magnifica S; Zigbee2MQTT release notes 2026.11.1; error E18 Bosch dishwasher
    train Hamburg Berlin friday 18:00; BTC EUR rate; tt0111161; Bundesliga results; recipe for pad thai
    symphony no 9 Beethoven; what is a Schnauzer; when is Easter 2027; capital of Kyrgyzstan; moon phase today
    lyrics of Yellow Submarine; Xylophone lessons for children; Szechuan pepper; Worcestershire sauce recipe
    how old can children be to stay home alone; LED strip 24 V 60 W; RTX 5090 review; WW90T534AAE manual
    PlayStation 5 Pro SSD; how to grow rhubarb; Llanfairpwllgwyngyll; population of Reykjavik; YouTube TV cost
    Nietzsche quotes; Zwiebelkuchen Rezept; Fahrplan U3; Oeffnungszeiten Ikea Altona; Wie wird das Wetter
    tarte aux pommes recette; horaires SNCF Paris Lyon; receta de tortilla; previsione meteo Milano
    pogoda jutro; recept pannkakor; opskrift boller; oppskrift vafler; dort recept; weer morgen Utrecht
    kvinoa recept; {"symbol": "EURUSD"}; {"from": "2026-11-23T20:00:00+01:00"}
    {"lat": 48.85, "lon": 2.35}; {"unit": "kWh", "city": "Oslo"}; https://en.wikipedia.org/wiki/Rhubarb
    https://www.youtube.com/results?search_query=yellow+submarine; GitHub home-assistant core issues
    how many ml in a cup; speed of light in km/s; NVMe vs SATA; PEP 8 line length; ISO 8601; DIN EN 60601-1-2
"""


def listed(table: str) -> list[str]:
    """Return the texts of a table."""
    return [text.strip() for text in table.strip().replace("\n", ";").split(";")]


async def test_nothing_leaves_in_disguise(sanitizer: Sanitizer) -> None:
    """In any turn, to any tool: what is private is known, and what nobody can read is refused."""
    secrets = listed(SECRETS)
    assert len(secrets) >= 32
    sending = Sending(said="Look something up", own_words=True)
    left = [
        (form, secret)
        for form in FORMS
        for secret in secrets
        if not (await sanitizer.async_check([DISGUISES[form](secret)], sending)).blocked
    ]
    assert not [secret for form, secret in left if form == "plain"]
    assert len(left) <= 0.05 * len(FORMS) * len(secrets), left


async def test_ordinary_topics_are_looked_up(home: HomeAssistant, sanitizer: Sanitizer) -> None:
    """By the tools of other servers; none of these words was said but those that a name begins with."""
    home.states.async_set("person.ann", "home", {"friendly_name": "Ann"})
    home.states.async_set("lock.shed", "locked", {"friendly_name": "Shed Lock"})
    topics = listed(TOPICS)
    assert len(topics) >= 60
    held = []
    for topic in topics:
        said = topic if topic.startswith(("who is Ann", "shed")) else "Look it up"
        sending = Sending(said=said, own_words=True)
        held += [topic] if (await sanitizer.async_check([topic], sending)).blocked else []
        if said == topic and await sanitizer.async_clean(topic, said=topic) != Sanitized(topic):
            held.append(f"search: {topic}")
    assert len(held) <= 1, held


async def test_strict_lets_ordinary_words_out(sanitizer: Sanitizer) -> None:
    queries = (FIXTURES / "searches_harmless.txt").read_text(encoding="utf-8").splitlines()
    held = [
        query for query in queries if (await sanitizer.async_clean(query, strict=True, said=query)).blocked
    ]
    assert len(held) / len(queries) < 0.1, held


# Any home

LETTERS = st.sampled_from("bdfgklmnprstvz")
VOWELS = st.sampled_from("aeiou\u00e4\u00e9")
SYLLABLE = st.tuples(LETTERS, VOWELS).map("".join)
INVENTED = st.lists(SYLLABLE, min_size=3, max_size=5).map("".join)
FRAMES = st.sampled_from(
    (
        "birthday gift ideas for {}",
        "{}'s favourite pizza recipe",
        "Geschenke f\u00fcr {} zum Geburtstag",
        "weather at {} tomorrow morning",
        "{}",
        "how to repair {} at home",
        "what does ({}) cost",
        "\u201e{}\u201c Bedeutung des Namens",
    )
)


@given(
    name=INVENTED,
    kind=st.sampled_from(("person", "room", "device", "place")),
    frame=FRAMES,
    upper=st.booleans(),
)
@settings(max_examples=many(300), deadline=None)
def test_no_name_passes(name: str, kind: str, frame: str, upper: bool) -> None:
    """Whatever somebody or something is called, it is found in any sentence and in any case."""
    assume(fold_letters(name) not in ordinary_words())
    called = f"{name.title()} Light" if kind == "device" else name.title()
    finder = build_finder([(PrivateKind(kind), called)], frozenset(), ())
    query = frame.format(name.upper() if upper else name.title())
    found = list(finder.find(query, "en", strict=False))
    assert found
    start = query.casefold().index(name.casefold())
    assert any(item.start <= start and item.end >= start + len(name) for item in found)


PHONE = st.builds(
    "{}{} {}{}".format,
    st.sampled_from(("+49 ", "+1 ", "0044 ", "+7 ", "+86 ", "0")),
    st.integers(100, 999),
    st.integers(100, 999),
    st.integers(1000, 9999),
)
EMAIL = st.builds("{}@{}.{}".format, INVENTED, INVENTED, st.sampled_from(("de", "com", "co.uk")))
ADDRESS = st.one_of(
    st.builds("{}stra\u00dfe {}".format, INVENTED.map(str.title), st.integers(1, 200)),
    st.builds("{} {} Street".format, st.integers(1, 999), INVENTED.map(str.title)),
    st.builds("{} rue de {}".format, st.integers(1, 99), INVENTED.map(str.title)),
    st.builds("Calle {} {}".format, INVENTED.map(str.title), st.integers(1, 99)),
)
ACCOUNT = st.integers(10**17, 10**18 - 1).map(lambda number: f"DE12{number}")


@given(
    private=st.one_of(PHONE, EMAIL, ADDRESS, ACCOUNT, st.ip_addresses(v=4, network="192.168.0.0/16").map(str))
)
@settings(max_examples=many(400), deadline=None)
def test_no_number_passes(private: str) -> None:
    """Numbers and addresses of many forms are found wherever they stand."""
    for frame in ("{}", "who is {} calling", "info about {} please"):
        query = frame.format(private)
        found = list(find_patterns(query, (), lambda _entity_id: False))
        start = query.index(private)
        assert any(item.start <= start + 3 and item.end >= start + len(private) - 1 for item in found), query
