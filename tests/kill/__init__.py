"""`make kill`: a real server, really killed at random moments while a conversation goes on."""
