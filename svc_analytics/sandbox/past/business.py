"""Business of a merchant: the habits that a scenario file, as TOML, can change."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from svc_analytics.errors import ConfigError
from svc_analytics.sandbox.core.coins import COINS, Coin

_SLUGS = tuple(coin.slug for coin in COINS)
_SIZES = ("seed", "months", "payments")

Some = Annotated[int, Meta(ge=0, le=1_000_000)]
Weight = Annotated[int, Meta(ge=1, le=1_000)]
Points = Annotated[int, Meta(ge=0, le=5_000)]
Days = Annotated[int, Meta(ge=1, le=3_650)]


class Business(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Set the habits of a merchant; the defaults are the usual merchant."""

    coins: tuple[str, ...] = _SLUGS
    # How busy January to December are.
    season: Annotated[tuple[Weight, ...], Meta(min_length=12, max_length=12)] = (
        *(9, 8, 12, 10, 9, 9, 8, 8, 10, 11, 13, 14),
    )
    # Basis points, oldest first; the last starts in mid-month.
    fee_tiers: Annotated[tuple[Points, ...], Meta(min_length=1, max_length=12)] = (150, 120, 100)
    refunded_one_in: Some = 24  # one refund in so many payments; 0 is none
    # Days until a refund, chosen at random.
    refund_days: Annotated[tuple[Days, ...], Meta(min_length=1)] = (1, 1, 2, 3, 5, 9, 21, 46, 93)
    # One on the 12th of each of the last so many full months.
    receipt_rotations: Annotated[int, Meta(ge=0, le=24)] = 1
    tampered_one_in: Some = 0  # one in so many receipts of the full months; 0 is none

    def __post_init__(self) -> None:
        if not self.coins or len(set(self.coins)) < len(self.coins) or set(self.coins) - {*_SLUGS}:
            raise ValueError(f"coins must be some of {', '.join(_SLUGS)}")

    @property
    def sold_for(self) -> tuple[Coin, ...]:
        """The coins of the merchant, in the order of `COINS`."""
        return tuple(coin for coin in COINS if coin.slug in self.coins)

    @property
    def text(self) -> str:
        """The habits that differ from the usual ones, as JSON; empty if none does."""
        habits = {name: getattr(self, name) for name in self.__struct_fields__}
        changed = {name: value for name, value in habits.items() if value != getattr(USUAL, name)}
        return msgspec.json.encode(changed).decode() if changed else ""

    @classmethod
    def of_text(cls, text: str) -> "Business":
        """Read a business from its JSON text."""
        return msgspec.json.decode(text or "{}", type=cls)


USUAL = Business()


def read_scenario_file(path: Path) -> dict[str, Any]:
    """Read the parameters of a scenario from a TOML file."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        sizes = {name: document.pop(name) for name in _SIZES if name in document}
        if wrong := [name for name, value in sizes.items() if type(value) is not int]:
            raise ConfigError(f"{path}: {', '.join(wrong)} must be whole numbers")
        return {**sizes, "business": msgspec.convert(document, Business)}
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, msgspec.ValidationError) as error:
        raise ConfigError(f"{path} describes no scenario: {error}") from error
