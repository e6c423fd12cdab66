CREATE TABLE public.migrations (
    id integer NOT NULL,
    "timestamp" bigint NOT NULL,
    name character varying NOT NULL
);
CREATE SEQUENCE public.migrations_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.migrations_id_seq OWNED BY public.migrations.id;
CREATE TABLE public.plants (
    id bigint NOT NULL,
    name text NOT NULL,
    tag text
);
ALTER TABLE ONLY public.migrations ALTER COLUMN id SET DEFAULT nextval('public.migrations_id_seq'::regclass);
INSERT INTO public.migrations VALUES (1, 1763000000000, 'CreatePlants1763000000000');
INSERT INTO public.migrations VALUES (2, 1795219200000, 'IndexPlantsByTag1795219200000');
INSERT INTO public.plants VALUES (-9223372036854775808, 'least', NULL);
INSERT INTO public.plants VALUES (1, 'Monstera', 'climber');
INSERT INTO public.plants VALUES (9007199254740993, 'Ficus 🌿', '');
INSERT INTO public.plants VALUES (9223372036854775807, '', 'climber');
SELECT pg_catalog.setval('public.migrations_id_seq', 2, true);
ALTER TABLE ONLY public.plants
    ADD CONSTRAINT "PK_7056d6b283b48ee2bb0e53bee60" PRIMARY KEY (id);
ALTER TABLE ONLY public.migrations
    ADD CONSTRAINT "PK_8c82d7f526340ab734260ea46be" PRIMARY KEY (id);
CREATE INDEX plants_tag ON public.plants USING btree (hashtextextended(tag, (0)::bigint), id) WHERE (tag IS NOT NULL);
