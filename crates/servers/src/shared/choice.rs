//! Choices of a few words.

/// An enum each case of which has a word, `Case = "word"`: it gets `ALL`, in the order in which
/// they stand, and `name`.
macro_rules! choice {
    (
        $(#[$about:meta])*
        pub enum $choice:ident { $($(#[$about_case:meta])* $case:ident = $word:literal,)* }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $choice { $($(#[$about_case])* $case,)* }

        impl $choice {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$case,)*];

            /// Its word, as in flags and tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$case => $word,)* }
            }
        }
    };
}

pub(crate) use choice;
