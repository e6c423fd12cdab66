CREATE TABLE "change_feed" ("id" integer PRIMARY KEY NOT NULL, "epoch" text, "removed" bigint NOT NULL);
INSERT INTO "change_feed" VALUES(1,'7e4GZsCEW45g',0);
CREATE TABLE "changes" ("number" integer PRIMARY KEY NOT NULL, "at" text NOT NULL, "type" text NOT NULL, "id" text NOT NULL, "data" text);
INSERT INTO "changes" VALUES(1,'2026-11-24T14:58:20.390Z','plant.created','-9223372036854775808','{"id":-9223372036854775808,"name":"least"}');
INSERT INTO "changes" VALUES(2,'2026-11-24T14:58:20.715Z','plant.created','1','{"id":1,"name":"Monstera","tag":"climber"}');
INSERT INTO "changes" VALUES(3,'2026-11-24T14:58:20.844Z','plant.created','9007199254740993','{"id":9007199254740993,"name":"Ficus 🌿","tag":""}');
INSERT INTO "changes" VALUES(4,'2026-11-24T14:58:21.354Z','plant.created','9223372036854775807','{"id":9223372036854775807,"name":"","tag":"climber"}');
CREATE TABLE "job_runs" ("name" text PRIMARY KEY NOT NULL, "doneFor" bigint, "holder" text, "heldUntil" bigint);
CREATE TABLE "migrations" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "timestamp" bigint NOT NULL, "name" varchar NOT NULL);
INSERT INTO "migrations" VALUES(1,1763000000000,'CreatePlants1763000000000');
INSERT INTO "migrations" VALUES(2,1795219200000,'IndexPlantsByTag1795219200000');
INSERT INTO "migrations" VALUES(3,1795400000000,'CreateJobRuns1795400000000');
INSERT INTO "migrations" VALUES(4,1795500000000,'IndexPlantsByName1795500000000');
INSERT INTO "migrations" VALUES(5,1795600000000,'CreateChanges1795600000000');
CREATE TABLE "plants" ("id" integer PRIMARY KEY NOT NULL, "name" text NOT NULL, "tag" text);
INSERT INTO "plants" VALUES(-9223372036854775808,'least',NULL);
INSERT INTO "plants" VALUES(1,'Monstera','climber');
INSERT INTO "plants" VALUES(9007199254740993,'Ficus 🌿','');
INSERT INTO "plants" VALUES(9223372036854775807,'','climber');
CREATE INDEX "plants_tag" ON "plants"
       ("tag") WHERE "tag" IS NOT NULL;
CREATE INDEX "plants_name"
       ON "plants" (lower(substr("name", 1, 64)), "id");
CREATE TRIGGER "record_change_plants_insert" AFTER INSERT ON "plants"  BEGIN INSERT INTO changes (at, type, id, data) VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'plant.created', NEW."id", '{' || '"id":' || NEW."id" || ',"name":' || json_quote(NEW."name") || CASE WHEN NEW."tag" IS NULL THEN '' ELSE ',"tag":' || json_quote(NEW."tag") END || '}'); END;
CREATE TRIGGER "record_change_plants_update" AFTER UPDATE ON "plants" WHEN OLD."id" = NEW."id" AND '{' || '"id":' || OLD."id" || ',"name":' || json_quote(OLD."name") || CASE WHEN OLD."tag" IS NULL THEN '' ELSE ',"tag":' || json_quote(OLD."tag") END || '}' <> '{' || '"id":' || NEW."id" || ',"name":' || json_quote(NEW."name") || CASE WHEN NEW."tag" IS NULL THEN '' ELSE ',"tag":' || json_quote(NEW."tag") END || '}' BEGIN INSERT INTO changes (at, type, id, data) VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'plant.replaced', NEW."id", '{' || '"id":' || NEW."id" || ',"name":' || json_quote(NEW."name") || CASE WHEN NEW."tag" IS NULL THEN '' ELSE ',"tag":' || json_quote(NEW."tag") END || '}'); END;
CREATE TRIGGER "record_change_plants_key" AFTER UPDATE ON "plants" WHEN NOT (OLD."id" = NEW."id") BEGIN INSERT INTO changes (at, type, id, data) VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'plant.removed', OLD."id", NULL);INSERT INTO changes (at, type, id, data) VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'plant.created', NEW."id", '{' || '"id":' || NEW."id" || ',"name":' || json_quote(NEW."name") || CASE WHEN NEW."tag" IS NULL THEN '' ELSE ',"tag":' || json_quote(NEW."tag") END || '}'); END;
CREATE TRIGGER "record_change_plants_delete" AFTER DELETE ON "plants"  BEGIN INSERT INTO changes (at, type, id, data) VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'plant.removed', OLD."id", NULL); END;
