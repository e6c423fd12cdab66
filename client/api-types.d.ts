// Made from openapi.json: npm run openapi

export interface paths {
    "/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List changes, oldest first, or follow them
         * @description A page always has a `Link` with `rel="next"`: follow it, and after an empty page follow it again later. With `Accept: text/event-stream` the changes are sent as they are committed, and a comment after every 15 seconds of silence.
         */
        get: operations["listChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/plants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List plants
         * @description Follow the `Link` with `rel="next"` until there is none. Use it as it is: it holds all parameters of the next page.
         */
        get: operations["listPlants"];
        put?: never;
        /**
         * Create a plant in the store
         * @description Safe to retry: the answer is 40901 if the first attempt went through.
         */
        post: operations["createPlant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/plants/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create any number of plants */
        post: operations["importPlants"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/plants/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a plant */
        get: operations["readPlant"];
        /**
         * Replace a plant
         * @description Replaces all of it: an optional member that the body leaves out is removed. Safe to retry. To change only what you have read, send its `ETag` as `If-Match`: the answer is 412 if somebody has changed it since.
         */
        put: operations["replacePlant"];
        post?: never;
        /**
         * Remove a plant
         * @description Safe to retry: a retry answers 404 if the first attempt went through. To change only what you have read, send its `ETag` as `If-Match`: the answer is 412 if somebody has changed it since.
         */
        delete: operations["removePlant"];
        options?: never;
        head?: never;
        /**
         * Change some members of a plant
         * @description A JSON merge patch (RFC 7396): changes the members that the body names, and removes those that are null. Safe to retry. To change only what you have read, send its `ETag` as `If-Match`: the answer is 412 if somebody has changed it since.
         */
        patch: operations["patchPlant"];
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Change: {
            /**
             * Format: date-time
             * @description When it happened
             */
            at: string;
            /**
             * @description The cursor to continue with after this change
             * @example vJ0kAaO9Uw3c.42
             */
            cursor: string;
            /**
             * @description The row as a page shows it; absent for a removed row
             * @example {
             *       "id": 7,
             *       "name": "Monstera"
             *     }
             */
            data?: {
                [key: string]: unknown;
            };
            /**
             * @description The key of the row
             * @example 7
             */
            id: (number | bigint) | string | Record<string, never>;
            /**
             * @description What happened: `created`, `replaced` or `removed` after the kind of the row
             * @example plant.created
             */
            type: string;
        };
        Error: {
            /**
             * Format: int32
             * @description Numeric error value
             */
            error: number;
            /** @description Text message */
            message: string;
        };
        ImportFailure: {
            /**
             * Format: int32
             * @description As `error` of Error
             */
            error: number;
            /** @description The number of the line, from 1 */
            line: number;
            /** @description As `message` of Error */
            message: string;
        };
        ImportResult: {
            /** @description How many lines were stored */
            created: number;
            /** @description How many lines were refused */
            failed: number;
            /** @description The first 1000 that were refused */
            failures: components["schemas"]["ImportFailure"][];
            /** @description How many lines were stored already */
            identical: number;
        };
        NewPlant: {
            /**
             * Format: int64
             * @description Identification number of the plant
             * @example 1
             */
            id: number | bigint;
            /**
             * @description The name of the plant
             * @example Monstera
             */
            name: string;
            /**
             * @description Tag to specify the type
             * @example indoor
             */
            tag?: string;
        };
        Plant: {
            /**
             * @description The name of the plant
             * @example Monstera
             */
            name: string;
            /**
             * @description Tag to specify the type
             * @example indoor
             */
            tag?: string;
        };
        PlantPatch: {
            /**
             * @description The name of the plant
             * @example Monstera
             */
            name?: string;
            /**
             * @description Tag to specify the type
             * @example indoor
             */
            tag?: string | null;
        };
        StoredPlant: {
            /**
             * Format: int64
             * @description Identification number of the plant
             * @example 1
             */
            id: number | bigint;
            /**
             * @description The name of the plant
             * @example Monstera
             */
            name: string;
            /**
             * @description Tag to specify the type
             * @example indoor
             */
            tag?: string;
        };
    };
    responses: {
        /**
         * @description Error response, an unexpected error.
         *
         *     - 40000: The request is not well-formed HTTP
         */
        Error400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description - 40100: A bearer token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>"
         *     - 40101: The bearer token is not accepted
         */
        Error401: {
            headers: {
                "WWW-Authenticate"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description - 40300: The access token does not have the scope that this request needs */
        Error403: {
            headers: {
                "WWW-Authenticate"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description - 40800: The request did not arrive in time */
        Error408: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description - 41200: The stored version is not the one that the request expects */
        Error412: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description - 41300: The body is larger than 102400 bytes */
        Error413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description - 41500: The body is not of a media type that this operation takes */
        Error415: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description - 41700: The only expectation that can be met is 100-continue */
        Error417: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description - 42900: Too many requests; retry after the time that Retry-After gives */
        Error429: {
            headers: {
                "Retry-After"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description - 43100: The request headers are too large or too many */
        Error431: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description - 50000: Something went wrong on the server */
        Error500: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description - 50300: The store is unavailable or overloaded; retry in a moment */
        Error503: {
            headers: {
                "Retry-After"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listChanges: {
        parameters: {
            query?: {
                /** @description How many to list at most */
                limit?: number;
                /** @description The cursor of the last change that is known, or `latest`. By default a page starts with the oldest change that is kept, and a stream with the next change */
                after?: string;
            };
            header?: {
                /** @description The id of the last event of a stream that broke. Only streams use it, and it takes precedence over `after` */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of changes, or changes as they are committed */
            200: {
                headers: {
                    /** @description What follows this page, with rel="next"; on every page, and on no stream */
                    Link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Change"][];
                    "text/event-stream": string;
                };
            };
            /**
             * @description Error response, an unexpected error.
             *
             *     - 40000: The request is not well-formed HTTP
             *     - 40003: The query or the path is not valid
             */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            408: components["responses"]["Error408"];
            /** @description - 41000: The changes after this cursor are no longer kept: read everything again */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            417: components["responses"]["Error417"];
            429: components["responses"]["Error429"];
            431: components["responses"]["Error431"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    listPlants: {
        parameters: {
            query?: {
                /** @description How many to list at most, from 1 to 1000 */
                limit?: number;
                /** @description Where the previous page ended, as given in its `Link`. In the order of an integer key, this is the last key of that page */
                after?: string;
                /** @description Only plants whose name starts with this text; A to Z match a to z */
                name?: string;
                /** @description The order. `name` compares the first 64 characters of the names, with A to Z as small letters, and then the ids. A minus reverses the order. The default is `name` if `name` is given, and `id` otherwise */
                sort?: "id" | "-id" | "name" | "-name";
                /** @description Only plants with exactly this tag, which may be the empty string. Not together with `name` or a sort by name */
                tag?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of plants */
            200: {
                headers: {
                    /** @description The next page, with rel="next", while there is more */
                    Link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredPlant"][];
                    "application/x-ndjson": string;
                };
            };
            /**
             * @description Error response, an unexpected error.
             *
             *     - 40000: The request is not well-formed HTTP
             *     - 40003: The query or the path is not valid
             */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            408: components["responses"]["Error408"];
            417: components["responses"]["Error417"];
            429: components["responses"]["Error429"];
            431: components["responses"]["Error431"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    createPlant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPlant"];
            };
        };
        responses: {
            /** @description Plant response; the plant was created */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plant"];
                };
            };
            /**
             * @description Error response, an unexpected error.
             *
             *     - 40000: The request is not well-formed HTTP
             *     - 40001: The body is empty, not UTF-8, not JSON, or nested too deeply
             *     - 40002: The body is not valid
             */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            408: components["responses"]["Error408"];
            /**
             * @description - 40900: The id is in use by a different plant
             *     - 40901: This very plant, with the same id, name and tag, already exists
             */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            417: components["responses"]["Error417"];
            429: components["responses"]["Error429"];
            431: components["responses"]["Error431"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    importPlants: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": string;
            };
        };
        responses: {
            /** @description The outcome of the import */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportResult"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            408: components["responses"]["Error408"];
            415: components["responses"]["Error415"];
            417: components["responses"]["Error417"];
            429: components["responses"]["Error429"];
            431: components["responses"]["Error431"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    readPlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only if one of these is the current `ETag`; `*` for any. Otherwise 412 */
                "If-Match"?: string;
                /** @description Only if none of these is the current `ETag`; `*` for any. Otherwise 304 to a GET, and 412 to a change */
                "If-None-Match"?: string;
            };
            path: {
                /** @description Identification number, in decimal digits */
                id: number | bigint;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The plant as it is stored */
            200: {
                headers: {
                    /** @description Changes with what is stored */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredPlant"];
                };
            };
            /** @description `If-None-Match` has the current ETag */
            304: {
                headers: {
                    /** @description Changes with what is stored */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description Error response, an unexpected error.
             *
             *     - 40000: The request is not well-formed HTTP
             *     - 40003: The query or the path is not valid
             */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description - 40401: There is no plant with this id */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            408: components["responses"]["Error408"];
            412: components["responses"]["Error412"];
            417: components["responses"]["Error417"];
            429: components["responses"]["Error429"];
            431: components["responses"]["Error431"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    replacePlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only if one of these is the current `ETag`; `*` for any. Otherwise 412 */
                "If-Match"?: string;
                /** @description Only if none of these is the current `ETag`; `*` for any. Otherwise 304 to a GET, and 412 to a change */
                "If-None-Match"?: string;
            };
            path: {
                /** @description Identification number, in decimal digits */
                id: number | bigint;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Plant"];
            };
        };
        responses: {
            /** @description Plant response; the plant was replaced */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plant"];
                };
            };
            /**
             * @description Error response, an unexpected error.
             *
             *     - 40000: The request is not well-formed HTTP
             *     - 40001: The body is empty, not UTF-8, not JSON, or nested too deeply
             *     - 40002: The body is not valid
             *     - 40003: The query or the path is not valid
             */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description - 40401: There is no plant with this id */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            408: components["responses"]["Error408"];
            412: components["responses"]["Error412"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            417: components["responses"]["Error417"];
            429: components["responses"]["Error429"];
            431: components["responses"]["Error431"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    removePlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only if one of these is the current `ETag`; `*` for any. Otherwise 412 */
                "If-Match"?: string;
                /** @description Only if none of these is the current `ETag`; `*` for any. Otherwise 304 to a GET, and 412 to a change */
                "If-None-Match"?: string;
            };
            path: {
                /** @description Identification number, in decimal digits */
                id: number | bigint;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The plant was removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description Error response, an unexpected error.
             *
             *     - 40000: The request is not well-formed HTTP
             *     - 40003: The query or the path is not valid
             */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description - 40401: There is no plant with this id */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            408: components["responses"]["Error408"];
            412: components["responses"]["Error412"];
            417: components["responses"]["Error417"];
            429: components["responses"]["Error429"];
            431: components["responses"]["Error431"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    patchPlant: {
        parameters: {
            query?: never;
            header?: {
                /** @description Only if one of these is the current `ETag`; `*` for any. Otherwise 412 */
                "If-Match"?: string;
                /** @description Only if none of these is the current `ETag`; `*` for any. Otherwise 304 to a GET, and 412 to a change */
                "If-None-Match"?: string;
            };
            path: {
                /** @description Identification number, in decimal digits */
                id: number | bigint;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PlantPatch"];
                "application/merge-patch+json": components["schemas"]["PlantPatch"];
            };
        };
        responses: {
            /** @description Plant response; the plant as it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plant"];
                };
            };
            /**
             * @description Error response, an unexpected error.
             *
             *     - 40000: The request is not well-formed HTTP
             *     - 40001: The body is empty, not UTF-8, not JSON, or nested too deeply
             *     - 40002: The body is not valid
             *     - 40003: The query or the path is not valid
             */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description - 40401: There is no plant with this id */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            408: components["responses"]["Error408"];
            412: components["responses"]["Error412"];
            413: components["responses"]["Error413"];
            /** @description - 41500: The body is not of a media type that this operation takes */
            415: {
                headers: {
                    "Accept-Patch"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            417: components["responses"]["Error417"];
            429: components["responses"]["Error429"];
            431: components["responses"]["Error431"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
}
