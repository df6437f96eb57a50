//! What is served: hosts, rules, paths, answers and the file cache, on real directories.
#![forbid(unsafe_code)]

mod bounds;
mod changes;
mod clean_urls;
mod comparing;
mod counter;
mod deploys;
mod endings;
mod entries_model;
mod hints;
mod homes;
mod hosts;
mod links;
mod listings;
mod passwords;
mod paths;
mod policies;
mod redirects;
mod rules;
mod serving;
mod sharing;
mod sources;
mod town;
mod types;
