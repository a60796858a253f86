-- MySQL keeps the id of a tablespace whose file is replaced (IMPORT TABLESPACE): the table in it has another number then.

ALTER TABLE policy_identity ADD COLUMN table_number BIGINT UNSIGNED NULL COMMENT 'the number of the table in that tablespace, on MySQL; NULL until a job has read it' AFTER innodb_table_id;
