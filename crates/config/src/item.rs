//! What stands in a file, with its place: values that know whether they are of the right kind.

use std::borrow::Cow;
use std::ops::Range;

use site::rules::Origin;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Fault;
use crate::keys;
use crate::source::Source;

/// A table of a file.
pub(crate) struct Section<'s> {
    pub(crate) source: &'s Source,
    /// Its name in [`keys::KEYS`].
    pub(crate) name: &'static str,
    pub(crate) at: Range<usize>,
    table: &'s DeTable<'s>,
}

/// A key with its value.
#[derive(Clone)]
pub(crate) struct Item<'s> {
    pub(crate) source: &'s Source,
    /// With the tables that it is in.
    pub(crate) key: String,
    /// Without them.
    pub(crate) name: &'s str,
    /// Of the key.
    pub(crate) at: Range<usize>,
    pub(crate) value: &'s Spanned<DeValue<'s>>,
}

impl<'s> Section<'s> {
    /// The whole file.
    pub(crate) fn whole(source: &'s Source, table: &'s DeTable<'s>) -> Self {
        Self { source, name: "", at: 0..0, table }
    }

    /// What is written, in that order.
    pub(crate) fn items(&self) -> Vec<Item<'s>> {
        let mut items: Vec<_> =
            self.table.iter().map(|(key, value)| self.pair(key, value)).collect();
        items.sort_by_key(|item| item.at.start);
        items
    }

    pub(crate) fn item(&self, name: &str) -> Option<Item<'s>> {
        self.table.get_key_value(name).map(|(key, value)| self.pair(key, value))
    }

    /// The same for what has to be there.
    pub(crate) fn needed(&self, name: &str, faults: &mut Vec<Fault>) -> Option<Item<'s>> {
        let item = self.item(name);
        if item.is_none() {
            let told = format!("needs the key `{name}`");
            faults.push(self.source.fault(&self.at, self.name, told));
        }
        item
    }

    /// Tells of keys that mean nothing here.
    pub(crate) fn tell_unknown(&self, faults: &mut Vec<Fault>) {
        for item in self.items() {
            if let Some(told) = keys::unknown(self.name, item.name) {
                faults.push(self.source.fault(&item.at, &item.key, told));
            }
        }
    }

    fn pair(&self, key: &'s Spanned<Cow<'s, str>>, value: &'s Spanned<DeValue<'s>>) -> Item<'s> {
        let name: &str = key.get_ref();
        let path = if self.name.is_empty() { name.into() } else { format!("{}.{name}", self.name) };
        Item { source: self.source, key: path, name, at: key.span(), value }
    }
}

impl<'s> Item<'s> {
    /// A mistake in the value.
    pub(crate) fn fault(&self, told: impl Into<String>) -> Fault {
        self.source.fault(&self.value.span(), &self.key, told.into())
    }

    /// Where the value is, for mistakes that are found later.
    pub(crate) fn origin(&self) -> Origin {
        self.fault("").origin()
    }

    pub(crate) fn string(&self, faults: &mut Vec<Fault>) -> Option<&'s str> {
        let string = self.value.get_ref().as_str();
        if string.is_none() {
            faults.push(self.not("a string"));
        }
        string
    }

    /// A boolean, or one of the words that flags take for it.
    pub(crate) fn switch(&self, faults: &mut Vec<Fault>) -> Option<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(is) => Some(*is),
            DeValue::String(text) if text == "on" => Some(true),
            DeValue::String(text) if text == "off" => Some(false),
            _ => {
                faults.push(self.not("true or false"));
                None
            }
        }
    }

    pub(crate) fn number(&self, faults: &mut Vec<Fault>) -> Option<u16> {
        let integer = self.value.get_ref().as_integer();
        let number = integer.and_then(|n| u16::from_str_radix(n.as_str(), n.radix()).ok());
        if number.is_none() {
            faults.push(self.not("a number from 0 to 65535"));
        }
        number
    }

    /// The elements of an array; whatever else it is, is taken for the only one.
    pub(crate) fn elements(&self) -> Vec<Self> {
        match self.value.get_ref() {
            DeValue::Array(array) => {
                array.iter().map(|value| Self { value, ..self.clone() }).collect()
            }
            _ => vec![self.clone()],
        }
    }

    pub(crate) fn strings(&self, faults: &mut Vec<Fault>) -> Vec<(Self, &'s str)> {
        let elements = self.elements().into_iter();
        elements.filter_map(|item| item.string(faults).map(|text| (item, text))).collect()
    }

    pub(crate) fn section(
        &self,
        name: &'static str,
        faults: &mut Vec<Fault>,
    ) -> Option<Section<'s>> {
        match self.value.get_ref() {
            DeValue::Table(table) => {
                Some(Section { source: self.source, name, at: self.value.span(), table })
            }
            _ => {
                faults.push(self.not("a table"));
                None
            }
        }
    }

    /// The tables of `[[name]]`.
    pub(crate) fn sections(&self, name: &'static str, faults: &mut Vec<Fault>) -> Vec<Section<'s>> {
        if !self.value.get_ref().is_array() {
            faults.push(self.not(&format!("an array of tables; write it as [[{name}]]")));
            return Vec::new();
        }
        self.elements().iter().filter_map(|item| item.section(name, faults)).collect()
    }

    /// It is something else.
    pub(crate) fn not(&self, wanted: &str) -> Fault {
        self.fault(format!("must be {wanted}, not {}", self.shown()))
    }

    fn shown(&self) -> String {
        match self.value.get_ref() {
            DeValue::String(text) => format!("{text:?}"),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(is) => is.to_string(),
            DeValue::Datetime(_) => "a date".into(),
            DeValue::Array(_) => "an array".into(),
            DeValue::Table(_) => "a table".into(),
        }
    }
}
