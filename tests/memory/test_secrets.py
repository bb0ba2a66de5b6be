"""What must not be learned by the way: codes, passwords, keys, card and account numbers."""

import pytest

from custom_components.home_agent.memory.sentences import holds_secret


def test_secrets_are_seen(subtests: pytest.Subtests) -> None:
    """In the languages that are spoken, with and without spaces in the digits."""
    for text in [
        "the garage code is 1234",
        "Der Code für die Alarmanlage ist 4711",
        "my PIN is 9 8 7 6",
        "wifi password is hunter2",
        "Das WLAN-Passwort lautet Sonnenschein",
        "my card is 4111 1111 1111 1111",
        "use sk-abcdefghijklmnop123",
        "le mot de passe est bonjour",
        "De toegangscode van de poort is 8821",
        "IBAN DE89 3704 0044 0532 0130 00",
        "The alarmcode: 55621",
        "la contraseña es perro123",
        "CVV 123",
        "api key abcd1234efgh",
        "the password for the neighbours is “Sesame”",
        "code four seven one one",
        "the alarm code is forty seven eleven",
        "der Code vom Tor ist vier sieben eins eins",
        "le code est douze trente-quatre",
        "four seven one one is the code of the alarm",
        "4711 is the alarm code",
    ]:
        with subtests.test(text=text):
            assert holds_secret(text)


def test_what_is_none_may_be_learned(subtests: pytest.Subtests) -> None:
    """Words for secrets without a secret, and numbers without such a word."""
    for text in [
        "my birthday is March 15 1984",
        "Anna likes the code review at work",
        "We have 1200 books",
        "the password manager is installed",
        "dress code is casual",
        "The zip code is on the letter",
        "the code word is for four people at eight",
        "1200 books and a code review",
        "phone number is 0171 2345678",
        "The pin board is in the hall",
        "kids go to bed at 20:30",
        "Ich mag Pinguine",
        "The heating is set to 21",
        "The meeting is in room 1234",
        "Spinning class is on Tuesday",
    ]:
        with subtests.test(text=text):
            assert not holds_secret(text)
