"""`python -m svc_analytics`: the command line, where no script was installed."""

from svc_analytics.cli.app import main

main()
