//! Skills of a server: folders of instructions for models (the extension *Skills*, SEP-2640).

use super::error::ClientError;
use super::info::ResourceInfo;
use super::lists::{read, read_item};
use super::{Client, unexpected, with_timeout};
use rmcp::model as wire;
use rmcp::model::{ClientRequest, ServerResult};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Value in the place of the list of files, for a skill whose files change.
const DYNAMIC: &str = "dynamic";

/// A skill, as a server lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SkillInfo {
    /// The URI of its `SKILL.md`, which [`Client::read`] reads.
    pub uri: String,
    /// The head of its `SKILL.md`.
    pub frontmatter: SkillFrontmatter,
    /// Its files, or `None` if they change.
    #[serde(rename = "resources", deserialize_with = "files_or_dynamic", serialize_with = "files_to_json")]
    pub files: Option<Vec<SkillFile>>,
    /// The `_meta`.
    #[serde(default, rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// The head of a `SKILL.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillFrontmatter {
    /// The name.
    pub name: String,
    /// A description, for the model.
    pub description: String,
    /// The other fields.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillFile {
    /// The URI, which [`Client::read`] reads.
    pub uri: String,
    /// `sha256:` and the SHA-256 of its bytes in hexadecimal digits.
    pub digest: String,
    /// Its length in bytes.
    pub size: u64,
}

impl SkillFile {
    /// Returns whether `bytes` have the length and the digest of the file.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        wire::SkillResource::new(self.uri.clone(), self.digest.clone(), self.size).verify(bytes).is_ok()
    }
}

fn files_or_dynamic<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<SkillFile>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Files {
        Listed(Vec<SkillFile>),
        Marker(String),
    }
    match Files::deserialize(deserializer)? {
        Files::Listed(files) => Ok(Some(files)),
        Files::Marker(marker) if marker == DYNAMIC => Ok(None),
        Files::Marker(marker) => {
            Err(serde::de::Error::custom(format!("`resources` is neither a list nor `{DYNAMIC}`: {marker:.64}")))
        }
    }
}

fn files_to_json<S: Serializer>(files: &Option<Vec<SkillFile>>, serializer: S) -> Result<S::Ok, S::Error> {
    match files {
        Some(files) => files.serialize(serializer),
        None => serializer.serialize_str(DYNAMIC),
    }
}

impl Client {
    /// Returns one skill (the extension *Skills*, SEP-2640).
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::Protocol`] if the server has no skills or not this one, and other errors if the request fails.
    pub async fn skill(&self, uri: impl Into<String>) -> Result<SkillInfo, ClientError> {
        let request = wire::GetSkillRequest::new(wire::GetSkillRequestParams::new(uri.into()));
        let options = self.options();
        let sending = self.inner.requests.send(ClientRequest::GetSkillRequest(request), &options);
        match with_timeout(self.inner.timeout, sending).await? {
            ServerResult::GetSkillResult(result) => read_item(result.skill),
            other => Err(unexpected("skills/get", &other)),
        }
    }

    /// Returns the entries of a directory of a skill. A directory has the media type `inode/directory`.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::Protocol`] if the server lists no directories or not this one, and other errors if the request fails.
    pub async fn directory(&self, uri: impl Into<String>) -> Result<Vec<ResourceInfo>, ClientError> {
        let uri = uri.into();
        let make = |params: Option<wire::PaginatedRequestParams>| {
            let mut directory = wire::ReadResourceDirectoryRequestParams::new(uri.clone());
            directory.cursor = params.and_then(|params| params.cursor);
            ClientRequest::ReadResourceDirectoryRequest(wire::ReadResourceDirectoryRequest::new(directory))
        };
        let take = |result| match result {
            ServerResult::ListResourcesResult(page) => Ok((read(page.resources)?, page.next_cursor)),
            other => Err(unexpected("resources/directory/read", &other)),
        };
        with_timeout(self.inner.timeout, self.pages("resources/directory/read", make, take)).await
    }
}
