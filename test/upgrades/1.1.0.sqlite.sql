CREATE TABLE "migrations" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "timestamp" bigint NOT NULL, "name" varchar NOT NULL);
CREATE TABLE "plants" ("id" integer PRIMARY KEY NOT NULL, "name" text NOT NULL, "tag" text);
CREATE INDEX "plants_tag" ON "plants" ("tag") WHERE "tag" IS NOT NULL;
INSERT INTO plants VALUES (-9223372036854775808, 'least', NULL);
INSERT INTO plants VALUES (1, 'Monstera', 'climber');
INSERT INTO plants VALUES (9007199254740993, 'Ficus 🌿', '');
INSERT INTO plants VALUES (9223372036854775807, '', 'climber');
INSERT INTO migrations VALUES (1, 1763000000000, 'CreatePlants1763000000000');
INSERT INTO migrations VALUES (2, 1795219200000, 'IndexPlantsByTag1795219200000');
