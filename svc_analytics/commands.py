"""The commands of `svc-analytics`, each with the first line of its help.

They stand apart from what they do, so that their list shows at once and variables can be named
by them, while no command is loaded: a test compares each line with the help itself.
"""

COMMANDS = {
    "accept": "Accept a finding, with a reason and a name.",
    "assert": "Write down a coin's balance, as the console shows it.",
    "backup": "Back up the lake into a folder or a bucket.",
    "books": "Write a sealed month as entries for the accounting software.",
    "bundle": "Write all views of the lake as tables of one DuckDB file.",
    "check": "Check the lake against every rule.",
    "close": "Read a month twice, write its statement and seal it.",
    "compare": "Compare two months, quarters or years, figure by figure and coin by coin.",
    "demo": "Try everything on the local sandbox, without any key.",
    "doctor": "Look at all that unattended runs need, and say what to do.",
    "extract": "Bring the lake up to date with the service.",
    "figures": "Say what each figure of a statement means, and how it is made.",
    "lab": "Open the notebooks in JupyterLab.",
    "match": "Match a month with another list, such as orders: does it agree?",
    "notebook": "Run a notebook for a month and write an HTML page.",
    "package": "Pack a sealed month into a zip file for an auditor.",
    "prove": "Prove one line of a sealed month to a stranger.",
    "receipts": "Verify the signed receipts of payments.",
    "restore": "Restore a backup into an empty lake folder.",
    "sandbox": "Run the Merchant Payments API on this machine, with made-up records and keys.",
    "schedule": "Let a timer close the months that are due: install it, look at it, remove it.",
    "sign": "Sign a sealed month with an SSH key.",
    "sql": "Run one read-only query on the views.",
    "statement": "Write the statement of a month, a quarter or a year, and print its summary.",
    "statement-diff": "Compare two statements: two versions of a month, or two months.",
    "statement-verify": "Check a sealed statement against its seal and the lake.",
    "status": "Show what the lake holds and how complete it is.",
    "views": "Write analytics.duckdb and list its views.",
    "webhooks": "Verify saved webhook deliveries.",
}
