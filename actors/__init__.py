"""Who acts: trio actors, mailboxes, supervision, durable runs. No SQL, no HTTP framework, no vendor."""
