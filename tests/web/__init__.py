"""The web from a worker's side: pages good and bad, addresses that lead astray, searches."""
