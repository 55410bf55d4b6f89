//! JSON Schema 2020-12: generated from types, and checked against values.

#[cfg(feature = "server")]
use schemars::JsonSchema;
#[cfg(feature = "server")]
use schemars::generate::SchemaSettings;
#[cfg(feature = "server")]
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value};

/// The most violations that one message names.
const NAMED_VIOLATIONS: usize = 5;

/// The longest value that a message repeats, in characters.
const SHOWN_VALUE: usize = 80;

/// The formats by which schemars names types of Rust. JSON Schema does not know them, and clients warn about them.
#[cfg(feature = "server")]
const FOREIGN_FORMATS: [&str; 18] = [
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "int128",
    "uint",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uint128",
    "float",
    "double",
    "ip",
    "partial-date-time",
    "partial-time",
    "zoned-date-time",
];

#[cfg(feature = "server")]
fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with_transform(RecursiveTransform(remove_foreign_format))
}

#[cfg(feature = "server")]
fn remove_foreign_format(schema: &mut schemars::Schema) {
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| FOREIGN_FORMATS.contains(&format)) {
        schema.remove("format");
    }
}

/// Returns the schema of `T`: an object.
#[cfg(feature = "server")]
pub(crate) fn of<T: JsonSchema>() -> Map<String, Value> {
    let schema = settings().into_generator().into_root_schema_for::<T>();
    match schema.to_value() {
        Value::Object(mut schema) => {
            schema.remove("title");
            schema
        }
        // `true` and `false` are schemas too.
        _ => Map::new(),
    }
}

/// Returns the schema of `T` without references to definitions, as forms need it.
#[cfg(feature = "server")]
pub(crate) fn inline<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = settings();
    settings.inline_subschemas = true;
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Validator(jsonschema::Validator);

impl Validator {
    /// Compiles a schema. References to other documents are not followed.
    ///
    /// # Errors
    ///
    /// Returns a text if the schema is not valid.
    pub(crate) fn new(schema: &Map<String, Value>) -> Result<Self, String> {
        let schema = Value::Object(schema.clone());
        jsonschema::draft202012::options().build(&schema).map(Self).map_err(|error| error.to_string())
    }

    /// Checks a value.
    ///
    /// # Errors
    ///
    /// Returns a text for the model: what to mend and where.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let mut lines = Vec::new();
        let mut more = 0;
        for error in self.0.iter_errors(value) {
            if lines.len() == NAMED_VIOLATIONS {
                more += 1;
                continue;
            }
            let path = error.instance_path().to_string();
            let place = if path.is_empty() { String::new() } else { format!("`{}`: ", path.trim_start_matches('/')) };
            let shown = error.instance().to_string();
            // An object is named by its path; its text would only repeat the arguments.
            let text = if error.instance().is_object() || shown.chars().count() > SHOWN_VALUE {
                error.masked_with("the value").to_string()
            } else {
                error.to_string()
            };
            lines.push(format!("{place}{text}"));
        }
        if lines.is_empty() {
            return Ok(());
        }
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        Err(lines.join("\n"))
    }
}

/// Turns a generated schema into one that elicitation allows: a flat object whose properties are strings, numbers,
/// booleans or choices.
///
/// # Errors
///
/// Returns a text that names the property without such a form.
#[cfg(feature = "server")]
pub(crate) fn form(mut schema: Map<String, Value>) -> Result<Value, String> {
    let mut properties = match schema.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    for (name, property) in &mut properties {
        let Value::Object(property) = property else { return Err(format!("field `{name}` has no type")) };
        // `Option<T>` is a type or null; in a form it is a field that is not required.
        if let Some(Value::Array(types)) = property.get("type")
            && let Some(kind) = types.iter().find(|kind| *kind != "null").cloned()
        {
            property.insert("type".into(), kind);
        }
        if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
            choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
            if let [Value::Object(only)] = choices.as_slice() {
                let only = only.clone();
                property.remove("anyOf");
                property.extend(only);
            }
        }
        if let Some(Value::Array(choices)) = property.get_mut("oneOf") {
            *choices = choices.iter().flat_map(titled).collect();
            property.insert("type".into(), "string".into());
        }
        // Formats of Rust's integers (`int64`) are not allowed in forms.
        if property
            .get("format")
            .is_some_and(|format| !["email", "uri", "date", "date-time"].iter().any(|allowed| format == allowed))
        {
            property.remove("format");
        }
        if property.get("default").is_some_and(Value::is_null) {
            property.remove("default");
        }
        let flat = property.get("type").is_some_and(|kind| {
            ["string", "number", "integer", "boolean", "array"].iter().any(|allowed| kind == allowed)
        });
        if !flat {
            return Err(format!(
                "field `{name}` of a form must be a string, a number, a boolean or a choice; ask for nested data in \
                 several forms"
            ));
        }
    }
    let mut form = Map::new();
    form.insert("type".into(), "object".into());
    form.insert("properties".into(), Value::Object(properties));
    if let Some(required) = schema.remove("required") {
        form.insert("required".into(), required);
    }
    Ok(Value::Object(form))
}

/// Returns the choices of an enum variant, or of several variants without documentation: values with titles.
#[cfg(feature = "server")]
fn titled(choice: &Value) -> Vec<Value> {
    let title = choice.get("title").or_else(|| choice.get("description"));
    let values = match (choice.get("const"), choice.get("enum")) {
        (Some(value), _) => vec![value.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        _ => Vec::new(),
    };
    values.into_iter().map(|value| serde_json::json!({"const": value, "title": title.unwrap_or(&value)})).collect()
}
