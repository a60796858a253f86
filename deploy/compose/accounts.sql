-- The service account of docker-compose.yml: what `ttlproxy init` prints for MySQL, for one schema of applications.
CREATE USER IF NOT EXISTS 'ttlproxy'@'%' IDENTIFIED BY 'ttlproxy';
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP, REFERENCES, CREATE VIEW, SHOW VIEW, LOCK TABLES, EXECUTE, EVENT ON `ttlproxy`.* TO 'ttlproxy'@'%';
GRANT SELECT, DELETE ON `app`.* TO 'ttlproxy'@'%';
GRANT PROCESS ON *.* TO 'ttlproxy'@'%';
GRANT REPLICATION CLIENT ON *.* TO 'ttlproxy'@'%';
GRANT SESSION_VARIABLES_ADMIN ON *.* TO 'ttlproxy'@'%';
GRANT SELECT ON performance_schema.events_statements_summary_by_account_by_event_name TO 'ttlproxy'@'%';
GRANT SELECT ON performance_schema.events_transactions_summary_by_account_by_event_name TO 'ttlproxy'@'%';
GRANT SELECT ON performance_schema.data_locks TO 'ttlproxy'@'%';
GRANT SELECT ON performance_schema.replication_group_members TO 'ttlproxy'@'%';
GRANT SELECT ON performance_schema.replication_group_member_stats TO 'ttlproxy'@'%';
