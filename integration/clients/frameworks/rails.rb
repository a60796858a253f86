# ActiveRecord with the page's database.yml and migration, behind one that creates the table.
require "yaml"
require "active_record"
ActiveRecord::Base.establish_connection(YAML.load_file("database.yml")["production"])
ActiveRecord::Schema.define { create_table(:sessions, &:timestamps) }
require "./migration"
ExpireSessions.migrate(:up)
