"""The Jalali calendar."""

from datetime import date

from svc_analytics.periods.calendar import Calendar


def _first_day(year: int, month: int) -> date:
    import jdatetime  # takes long to load, and few use this calendar

    first: date = jdatetime.date(year, month, 1).togregorian()
    return first


def _split(day: date) -> tuple[int, int, int]:
    import jdatetime  # as above

    jalali = jdatetime.date.fromgregorian(date=day)
    return jalali.year, jalali.month, jalali.day


CALENDAR = Calendar(
    name="jalali",
    months=(
        *("Farvardin", "Ordibehesht", "Khordad", "Tir", "Mordad", "Shahrivar"),
        *("Mehr", "Aban", "Azar", "Dey", "Bahman", "Esfand"),
    ),
    spellings=(
        "فروردین farvardeen",
        "اردیبهشت ordibehest ordebehesht",
        "خرداد khurdad",
        "تیر teer",
        "مرداد امرداد amordad",
        "شهریور shahriver sharivar",
        "مهر mihr",
        "آبان",
        "آذر azer",
        "دی dei",
        "بهمن",
        "اسفند isfand esphand",
    ),
    first_day=_first_day,
    split=_split,
    earliest=(1348, 1),
    latest=(9377, 10),
    years=range(1300, 1500),
    example="1405-08",
)
