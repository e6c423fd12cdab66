CREATE FUNCTION public.plant_store_text_hash(text) RETURNS bytea
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $_$ SELECT sha256(convert_to($1, 'UTF8')) $_$;
-- The function told other changes apart, and wrote the row as JSON.
CREATE FUNCTION public.record_change_plants() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO public.changes (number, at, type, id, data)
     VALUES (nextval('public.changes_number'), clock_timestamp(), 'plant.created', NEW."id"::text, NULL);
  RETURN NULL;
END$$;
CREATE TABLE public.change_feed (
    id integer CONSTRAINT "PK_57344f8330a63fc4867f148b707" PRIMARY KEY,
    epoch text COLLATE pg_catalog."C",
    removed bigint NOT NULL
);
CREATE TABLE public.changes (
    number bigint CONSTRAINT "PK_fafbe4b4a0113cae8dab5f16836" PRIMARY KEY,
    at timestamp(3) with time zone NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    data text COLLATE pg_catalog."C"
);
CREATE SEQUENCE public.changes_number OWNED BY public.changes.number;
CREATE TABLE public.job_runs (
    name text COLLATE pg_catalog."C" CONSTRAINT "PK_b85618ada5b365476f91f989ed5" PRIMARY KEY,
    "doneFor" bigint,
    holder text COLLATE pg_catalog."C",
    "heldUntil" bigint
);
CREATE TABLE public.migrations (
    id serial CONSTRAINT "PK_8c82d7f526340ab734260ea46be" PRIMARY KEY,
    "timestamp" bigint NOT NULL,
    name character varying NOT NULL
);
CREATE TABLE public.plants (
    id bigint CONSTRAINT "PK_7056d6b283b48ee2bb0e53bee60" PRIMARY KEY,
    name text NOT NULL COLLATE pg_catalog."C",
    tag text COLLATE pg_catalog."C"
);
INSERT INTO public.change_feed VALUES (1, 'SZojsrUeryTH', 0);
INSERT INTO public.changes VALUES (1, '2026-11-24 14:58:53.979+00', 'plant.created', '-9223372036854775808', '{"id":-9223372036854775808,"name":"least"}');
INSERT INTO public.changes VALUES (2, '2026-11-24 14:58:54.168+00', 'plant.created', '1', '{"id":1,"name":"Monstera","tag":"climber"}');
INSERT INTO public.changes VALUES (3, '2026-11-24 14:58:54.293+00', 'plant.created', '9007199254740993', '{"id":9007199254740993,"name":"Ficus 🌿","tag":""}');
INSERT INTO public.changes VALUES (4, '2026-11-24 14:58:54.462+00', 'plant.created', '9223372036854775807', '{"id":9223372036854775807,"name":"","tag":"climber"}');
INSERT INTO public.migrations ("timestamp", name) VALUES (1763000000000, 'CreatePlants1763000000000');
INSERT INTO public.migrations ("timestamp", name) VALUES (1795219200000, 'IndexPlantsByTag1795219200000');
INSERT INTO public.migrations ("timestamp", name) VALUES (1795400000000, 'CreateJobRuns1795400000000');
INSERT INTO public.migrations ("timestamp", name) VALUES (1795500000000, 'IndexPlantsByName1795500000000');
INSERT INTO public.migrations ("timestamp", name) VALUES (1795600000000, 'CreateChanges1795600000000');
INSERT INTO public.plants VALUES (-9223372036854775808, 'least', NULL);
INSERT INTO public.plants VALUES (1, 'Monstera', 'climber');
INSERT INTO public.plants VALUES (9007199254740993, 'Ficus 🌿', '');
INSERT INTO public.plants VALUES (9223372036854775807, '', 'climber');
SELECT pg_catalog.setval('public.changes_number', 4, true);
CREATE INDEX plants_name ON public.plants USING btree (lower(("left"(name, 64) COLLATE "C")), id);
CREATE INDEX plants_tag ON public.plants USING btree (public.plant_store_text_hash(tag), id) WHERE (tag IS NOT NULL);
CREATE TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.plants FOR EACH ROW EXECUTE FUNCTION public.record_change_plants();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON public.plants FOR EACH STATEMENT EXECUTE FUNCTION public.record_change_plants();
