"""Who is stronger: players, tournaments, ratings, outside engines."""
