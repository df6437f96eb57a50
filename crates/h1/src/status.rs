/// A status code (RFC 9110 section 15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Status(pub u16);

macro_rules! statuses {
    ($($code:literal $name:ident $phrase:literal,)*) => {
        impl Status {
            $(#[doc = $phrase] pub const $name: Self = Self($code);)*

            /// The reason phrase; empty for a code that no standard knows.
            #[must_use]
            pub const fn phrase(self) -> &'static str {
                match self.0 {
                    $($code => $phrase,)*
                    _ => "",
                }
            }
        }
    };
}

statuses! {
    100 CONTINUE "Continue",
    200 OK "OK",
    202 ACCEPTED "Accepted",
    204 NO_CONTENT "No Content",
    206 PARTIAL_CONTENT "Partial Content",
    301 MOVED_PERMANENTLY "Moved Permanently",
    302 FOUND "Found",
    303 SEE_OTHER "See Other",
    304 NOT_MODIFIED "Not Modified",
    307 TEMPORARY_REDIRECT "Temporary Redirect",
    308 PERMANENT_REDIRECT "Permanent Redirect",
    400 BAD_REQUEST "Bad Request",
    401 UNAUTHORIZED "Unauthorized",
    402 PAYMENT_REQUIRED "Payment Required",
    403 FORBIDDEN "Forbidden",
    404 NOT_FOUND "Not Found",
    405 METHOD_NOT_ALLOWED "Method Not Allowed",
    406 NOT_ACCEPTABLE "Not Acceptable",
    408 REQUEST_TIMEOUT "Request Timeout",
    409 CONFLICT "Conflict",
    410 GONE "Gone",
    411 LENGTH_REQUIRED "Length Required",
    412 PRECONDITION_FAILED "Precondition Failed",
    413 CONTENT_TOO_LARGE "Content Too Large",
    414 URI_TOO_LONG "URI Too Long",
    415 UNSUPPORTED_MEDIA_TYPE "Unsupported Media Type",
    416 RANGE_NOT_SATISFIABLE "Range Not Satisfiable",
    417 EXPECTATION_FAILED "Expectation Failed",
    421 MISDIRECTED_REQUEST "Misdirected Request",
    422 UNPROCESSABLE_CONTENT "Unprocessable Content",
    423 LOCKED "Locked",
    425 TOO_EARLY "Too Early",
    426 UPGRADE_REQUIRED "Upgrade Required",
    428 PRECONDITION_REQUIRED "Precondition Required",
    429 TOO_MANY_REQUESTS "Too Many Requests",
    431 REQUEST_HEADER_FIELDS_TOO_LARGE "Request Header Fields Too Large",
    451 UNAVAILABLE_FOR_LEGAL_REASONS "Unavailable For Legal Reasons",
    500 INTERNAL_SERVER_ERROR "Internal Server Error",
    501 NOT_IMPLEMENTED "Not Implemented",
    502 BAD_GATEWAY "Bad Gateway",
    503 SERVICE_UNAVAILABLE "Service Unavailable",
    504 GATEWAY_TIMEOUT "Gateway Timeout",
    505 HTTP_VERSION_NOT_SUPPORTED "HTTP Version Not Supported",
    507 INSUFFICIENT_STORAGE "Insufficient Storage",
    511 NETWORK_AUTHENTICATION_REQUIRED "Network Authentication Required",
}
