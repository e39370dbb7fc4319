-- Keeps the number for the migration of another branch; without effect.
SELECT 1;
