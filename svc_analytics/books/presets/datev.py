"""DATEV: a Buchungsstapel (EXTF, header 700, category 21, version 13) for the tax adviser.

It takes pairs of accounts alone, so each line is booked against a clearing account, which ends
each entry at zero.
"""

from collections.abc import Iterator
from datetime import date, timedelta

from svc_analytics.books.entry import Entry, EntryLine, Journal
from svc_analytics.books.presets.preset import CodeForm, Preset, harmless
from svc_analytics.instants import from_micros

_INFO = ";".join(f"Beleginfo - Art {n};Beleginfo - Inhalt {n}" for n in range(1, 9))
_MORE = ";".join(f"Zusatzinformation - Art {n};Zusatzinformation- Inhalt {n}" for n in range(1, 21))
_HEADER = (
    "Umsatz (ohne Soll/Haben-Kz);Soll/Haben-Kennzeichen;WKZ Umsatz;Kurs;Basis-Umsatz;"
    "WKZ Basis-Umsatz;Konto;Gegenkonto (ohne BU-Schlüssel);BU-Schlüssel;Belegdatum;Belegfeld 1;"
    "Belegfeld 2;Skonto;Buchungstext;Postensperre;Diverse Adressnummer;Geschäftspartnerbank;"
    f"Sachverhalt;Zinssperre;Beleglink;{_INFO};KOST1 - Kostenstelle;KOST2 - Kostenstelle;"
    "Kost-Menge;EU-Land u. UStID (Bestimmung);EU-Steuersatz (Bestimmung);Abw. Versteuerungsart;"
    "Sachverhalt L+L;Funktionsergänzung L+L;BU 49 Hauptfunktionstyp;BU 49 Hauptfunktionsnummer;"
    f"BU 49 Funktionsergänzung;{_MORE};Stück;Gewicht;Zahlweise;Forderungsart;Veranlagungsjahr;"
    "Zugeordnete Fälligkeit;Skontotyp;Auftragsnummer;Buchungstyp;USt-Schlüssel (Anzahlungen);"
    "EU-Land (Anzahlungen);Sachverhalt L+L (Anzahlungen);EU-Steuersatz (Anzahlungen);"
    "Erlöskonto (Anzahlungen);Herkunft-Kz;Buchungs GUID;KOST-Datum;SEPA-Mandatsreferenz;"
    "Skontosperre;Gesellschaftername;Beteiligtennummer;Identifikationsnummer;Zeichnernummer;"
    "Postensperre bis;Bezeichnung SoBil-Sachverhalt;Kennzeichen SoBil-Buchung;Festschreibung;"
    "Leistungsdatum;Datum Zuord. Steuerperiode;Fälligkeit;Generalumkehr (GU);Steuersatz;Land;"
    "Abrechnungsreferenz;BVV-Position;EU-Land u. UStID (Ursprung);EU-Steuersatz (Ursprung);"
    "Abw. Skontokonto"
)
_COLUMNS = _HEADER.split(";")
_TEXT, _INFORMATION = 60, 210
_MORE_FROM = _COLUMNS.index("Zusatzinformation - Art 1")
_FIRST, _LOCKED = 14, 113  # the columns that are filled, and that of Festschreibung
# The columns of texts, counted from 1 as the vendor does: one that is empty has its quotes too.
_TEXTS = {
    *(2, 3, 6, 9, 11, 12, 14, 16, *range(20, 39), 40, 42, *range(48, 88), 91, 95, 96, 98),
    *(102, 103, 105, 107, 109, 110, 112, 118, 120, 121, 123),
}
_LENGTH = "4"  # of account numbers, where no setting says another
_FILE = CodeForm(
    r"EXTF_.+\.csv", "a name that begins with EXTF_ and ends in .csv", "EXTF_books.csv"
)
_LATIN = str.maketrans({"…": "..."})


def _account(digits: int) -> CodeForm:
    return CodeForm(f"(?!0+$)[0-9]{{1,{digits}}}", f"1 to {digits} digits, not all 0", "1599")


def _write(journal: Journal) -> str:
    rows = (_row(journal, entry, line) for entry, line in journal.lines)
    lines = [
        ";".join(text or ('""' if column in _TEXTS else "") for column, text in enumerate(row, 1))
        for row in rows
    ]
    return "".join(f"{line}\r\n" for line in (_head(journal), _HEADER, *lines))


def _head(journal: Journal) -> str:
    settings, instant = journal.settings, from_micros(journal.as_of).strftime("%Y%m%d%H%M%S%f")[:17]
    begin = _year_of(journal, journal.entries[0].day if journal.entries else journal.first_day)
    first = max(journal.first_day, begin)
    last = min(journal.last_day, begin.replace(year=begin.year + 1) - timedelta(days=1))
    length = settings.get("account_length", _LENGTH)
    cells = [
        *('"EXTF"', "700", "21", '"Buchungsstapel"', "13", instant, "", '"SV"', '""', '""'),
        *(settings["consultant"], settings["client"], f"{begin:%Y%m%d}", length),
        *(f"{first:%Y%m%d}", f"{last:%Y%m%d}", _quoted(journal.label, 30), '""', "1", "0", "0"),
        *(f'"{journal.currency}"', "", '""', "", "", '""', "", "", '""', '""'),
    ]
    return ";".join(cells)


def _year_of(journal: Journal, day: date) -> date:
    """Return the first day of the business year that a day is of: a file is of one year."""
    begin = day.replace(day=1, month=int(journal.settings.get("year_start", "01-01")[:2]))
    return begin if begin <= day else begin.replace(year=begin.year - 1)


def _row(journal: Journal, entry: Entry, line: EntryLine) -> Iterator[str]:
    amount = journal.text(abs(line.cents)).replace(".", ",")
    yield from (amount, '"S"' if line.cents > 0 else '"H"', "", "", "", "")
    yield from (line.account, journal.settings["clearing"])
    yield from (f'"{line.tax}"' if line.tax else "", f"{entry.day:%d%m}")
    yield from (_quoted(entry.entry_id, 36), "", "", _quoted(line.fitted(_TEXT), _TEXT))
    more = _more(entry, line) | {_LOCKED: "0"}
    yield from (more.get(place, "") for place in range(_FIRST, len(_COLUMNS)))


def _more(entry: Entry, line: EntryLine) -> dict[int, str]:
    """Return the whole text of a line and its external rate, by the places of their columns."""
    columns = {"Text": line.fitted(_INFORMATION), "Kurs": entry.rates}
    pairs = [cell for kind, text in columns.items() if text for cell in (kind, text)]
    return {_MORE_FROM + n: _quoted(text, _INFORMATION) for n, text in enumerate(pairs)}


def _quoted(text: str, most: int) -> str:
    """Return a text in quotes; a sign that Windows-1252 lacks becomes a question mark."""
    line = harmless(text.translate(_LATIN), most).translate(_LATIN)[:most]
    known = line.encode("cp1252", "replace").decode("cp1252")
    return '"' + known.replace('"', "''") + '"'


DATEV = Preset(
    "datev",
    "DATEV",
    "csv",
    _write,
    arrives="a batch that can still be edited",
    before="give the file to the tax adviser, whose numbers it bears",
    again="it is a second batch, for its description names no key: the adviser finds its ids in "
    "Belegfeld 1, and deletes the batch before it is locked",
    encoding="cp1252",
    settings={
        "consultant": CodeForm("(?!1000$)[1-9][0-9]{3,6}", "4 to 7 digits, from 1001 on", "29098"),
        "client": CodeForm("[1-9][0-9]{0,4}", "1 to 5 digits, the first no 0", "55003"),
        "account_length": CodeForm("[4-8]", "a digit from 4 to 8", "4"),
        "year_start": CodeForm("(0[1-9]|1[0-2])-01", "a month of two digits and -01", "07-01"),
        "clearing": _account(9),
    },
    required=("consultant", "client", "clearing"),
    account=_account(9),
    # Those of persons are one digit longer than the others.
    account_by=lambda settings: _account(int(settings.get("account_length", _LENGTH)) + 1),
    file=_FILE,
    file_prefix="EXTF_",
    tax=CodeForm("[0-9]{4}", "4 digits", "0000"),
    takes_tax=True,
    digits=10,
    file_of=lambda journal, entry: _year_of(journal, entry.day),
)
