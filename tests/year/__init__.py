"""`make year`: a year of reminders and jobs in twelve zones, with deaths, sleeps and changes of mind, moved by hand."""
