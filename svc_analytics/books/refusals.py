"""What a system would refuse of a chart of accounts: each with its line and how to mend it."""

from collections.abc import Iterable, Iterator

from svc_analytics.books.accounts import Accounts
from svc_analytics.books.presets.preset import CLEARING, Preset


def refusals(accounts: Accounts, preset: Preset, places: Iterable[tuple[str, str]]) -> list[str]:
    """Say what a system would refuse of the accounts of these figures and coins."""
    wanted = sorted(places, key=lambda place: (accounts.lines.get(accounts.key(*place), 0), place))
    figures = [*dict.fromkeys(figure for figure, _ in wanted)]
    texts = [
        *_of_settings(accounts, preset),
        *(text for figure, coin in wanted for text in _of_account(accounts, preset, figure, coin)),
        *_of_tax(accounts, preset, figures),
        *_of_tracking(accounts, preset),
    ]
    return [*dict.fromkeys(texts)]


def _of_settings(accounts: Accounts, preset: Preset) -> Iterator[str]:
    settings = accounts.settings.get(preset.name, {})
    clearing = settings.get(CLEARING)
    if clearing and (why := preset.form_of_account(settings).refusal(clearing)):
        yield f"{accounts.where(preset.name, CLEARING)}: {preset.name}.{CLEARING} {why}"
    for name in preset.required:
        if name not in settings:
            line = f'{name} = "{preset.settings[name].example}"'
            yield f"{accounts.where(preset.name)}: write {name} below [{preset.name}], as {line}"


def _of_account(accounts: Accounts, preset: Preset, figure: str, coin: str) -> Iterator[str]:
    account = accounts.account(figure, coin)
    form = preset.form_of_account(accounts.settings.get(preset.name, {}))
    if account is not None and (why := form.refusal(account)):
        section, name = accounts.key(figure, coin)
        yield f"{accounts.where(section, name)}: {section}.{name} {why}"
    if account and account == accounts.settings.get(preset.name, {}).get(CLEARING):
        section, name = accounts.key(figure, coin)
        why = f"is the clearing account of [{preset.name}], which each line is booked against"
        yield f"{accounts.where(section, name)}: {section}.{name} {why}: name another there"


def _of_tax(accounts: Accounts, preset: Preset, figures: list[str]) -> Iterator[str]:
    without = [figure for figure in figures if not accounts.tax_code(figure)]
    if preset.needs_tax and without:
        fix = f'write default = "{preset.tax.example}" below [tax]'
        yield f"{accounts.where('tax')}: no tax code of {', '.join(without)}: {fix}"
    for figure in figures:
        code = accounts.tax_code(figure)
        if code and (why := preset.tax.refusal(code)):
            name = figure if figure in accounts.tax else "default"
            yield f"{accounts.where('tax', name)}: tax.{name} {why}"


def _of_tracking(accounts: Accounts, preset: Preset) -> Iterator[str]:
    for name, value in accounts.tracking.items():
        is_written = not preset.left_out((), [name])
        if is_written and (why := preset.tracking.refusal(value)):
            yield f"{accounts.where('tracking', name)}: tracking.{name} {why}"
