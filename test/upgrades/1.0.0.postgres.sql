CREATE TABLE public.migrations (
    id serial CONSTRAINT "PK_8c82d7f526340ab734260ea46be" PRIMARY KEY,
    "timestamp" bigint NOT NULL,
    name character varying NOT NULL
);
CREATE TABLE public.plants (
    id bigint CONSTRAINT "PK_7056d6b283b48ee2bb0e53bee60" PRIMARY KEY,
    name text NOT NULL,
    tag text
);
INSERT INTO public.migrations ("timestamp", name) VALUES (1763000000000, 'CreatePlants1763000000000');
INSERT INTO public.plants VALUES (-9223372036854775808, 'least', NULL);
INSERT INTO public.plants VALUES (1, 'Monstera', 'climber');
INSERT INTO public.plants VALUES (9007199254740993, 'Ficus 🌿', '');
INSERT INTO public.plants VALUES (9223372036854775807, '', 'climber');
