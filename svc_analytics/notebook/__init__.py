"""For notebooks: displays, pickers, charts, errors in one line, and running one."""
