-- Why a policy waits for approval whatever the brake says.

ALTER TABLE policy ADD COLUMN approval_reason VARCHAR(255) NOT NULL DEFAULT '' COMMENT 'why approval is required' AFTER approval_required;

UPDATE policy SET approval_reason = 'the table came from a dump' WHERE approval_required;
