//! The tables of the database: clients, authorizations under way, codes and tokens. Secrets are kept as hashes.

use crate::auth_server::client::OAuthClient;
use crate::auth_server::error::OAuthError;
use crate::auth_server::provider::{AuthorizationRequest, CodeGrant, RefreshGrant, TokenPair};
use crate::database::Layout;
use brumate_mcp_oauth::internal::sha256_hex;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use serde::de::DeserializeOwned;

/// The most clients. Beyond, clients that have registered themselves and have no tokens are removed, oldest first.
/// Without such ones no further client can register.
const MAX_CLIENTS: u64 = 100_000;

/// The most bytes of all clients' metadata. Beyond, clients are removed as for [`MAX_CLIENTS`].
const MAX_CLIENTS_BYTES: u64 = 64 << 20;

/// The most authorizations under way. Beyond, the oldest are removed.
const MAX_REQUESTS: u64 = 10_000;

/// The most tokens and codes. Beyond, the ones that expire first are removed.
const MAX_TOKENS: u64 = 1_000_000;

/// How long an authorization may take a person, in seconds.
const REQUEST_LIFETIME: u64 = 15 * 60;

/// The most wrong passwords for one authorization.
const MAX_TRIES: i64 = 10;

/// The least time between two notes that a client is used, in seconds.
const NOTED_EVERY: u64 = 24 * 60 * 60;

pub(super) const LAYOUT: Layout = Layout {
    version: 1,
    tables: "
    CREATE TABLE clients (id TEXT PRIMARY KEY, client TEXT NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX clients_used ON clients (used);
    CREATE TABLE requests (
        id TEXT PRIMARY KEY, request TEXT NOT NULL, name TEXT, tries INTEGER NOT NULL DEFAULT 0, ends INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX requests_ends ON requests (ends);
    CREATE TABLE tokens (
        hash TEXT PRIMARY KEY, kind TEXT NOT NULL, family TEXT NOT NULL, client TEXT NOT NULL, content TEXT NOT NULL,
        scopes TEXT NOT NULL, used INTEGER NOT NULL DEFAULT 0, ends INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX tokens_family ON tokens (family);
    CREATE INDEX tokens_ends ON tokens (ends);
    ",
};

/// Index that finds the clients to remove. Databases without it get it when they are opened.
pub(super) const INDEXES: &str = "CREATE INDEX IF NOT EXISTS tokens_client ON tokens (client)";

const CODE: &str = "code";
const ACCESS: &str = "access";
const REFRESH: &str = "refresh";

/// The limits of clients that register themselves.
#[derive(Clone, Copy)]
pub(super) struct ClientLimits {
    clients: u64,
    bytes: u64,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { clients: MAX_CLIENTS, bytes: MAX_CLIENTS_BYTES }
    }
}

/// The database, within one transaction.
pub(super) struct Tables<'a>(Transaction<'a>);

/// A code or a token.
struct Token {
    family: String,
    content: String,
    scopes: String,
    used: bool,
    ends: u64,
}

/// An authorization that waits for a person.
#[derive(Debug)]
pub(super) struct PendingAuthorization {
    pub(super) request: AuthorizationRequest,
    pub(super) client_name: Option<String>,
}

impl<'a> Tables<'a> {
    pub(super) fn begin(connection: &'a mut Connection) -> Result<Self, OAuthError> {
        Ok(Self(connection.transaction_with_behavior(TransactionBehavior::Immediate)?))
    }

    pub(super) fn commit(self) -> Result<(), OAuthError> {
        Ok(self.0.commit()?)
    }

    fn count(&self, table: &str) -> Result<u64, OAuthError> {
        Ok(self.0.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?)
    }

    pub(super) fn keep_client(&mut self, client: &OAuthClient, now: u64) -> Result<(), OAuthError> {
        let text = serde_json::to_string(client)?;
        self.0.execute("INSERT OR REPLACE INTO clients VALUES (?, ?, ?)", params![client.id, text, now])?;
        Ok(())
    }

    /// Keeps a client that has registered itself, within the limits.
    ///
    /// # Errors
    ///
    /// Returns an error if no client can be removed for it.
    pub(super) fn keep_registration(
        &mut self,
        client: &OAuthClient,
        now: u64,
        limits: ClientLimits,
    ) -> Result<(), OAuthError> {
        let bytes = serde_json::to_string(client)?.len() as u64;
        loop {
            let query = "SELECT count(*), coalesce(sum(octet_length(client)), 0) FROM clients";
            let (count, held): (u64, u64) = self.0.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if count < limits.clients && held + bytes <= limits.bytes {
                return self.keep_client(client, now);
            }
            let removed = self.0.execute(
                "DELETE FROM clients WHERE id IN (SELECT id FROM clients \
                 WHERE coalesce(json_extract(client, '$.self_registered'), 1) \
                 AND NOT EXISTS (SELECT 1 FROM tokens WHERE tokens.client = clients.id) ORDER BY used LIMIT 100)",
                [],
            )?;
            if removed == 0 {
                let text = "there are too many clients whose tokens hold: try again later";
                return Err(OAuthError::temporarily_unavailable(text));
            }
        }
    }

    pub(super) fn client(&mut self, id: &str) -> Result<Option<OAuthClient>, OAuthError> {
        let now = brumate_mcp_oauth::internal::now();
        let found = self.0.query_row("SELECT client, used FROM clients WHERE id = ?", [id], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, u64>(1)?))
        });
        let Some((text, used)) = found.optional()? else { return Ok(None) };
        if used + NOTED_EVERY < now {
            self.0.execute("UPDATE clients SET used = ? WHERE id = ?", params![now, id])?;
        }
        Ok(Some(serde_json::from_str(&text)?))
    }

    pub(super) fn keep_request(
        &mut self,
        id: &str,
        request: &AuthorizationRequest,
        name: Option<&str>,
        now: u64,
    ) -> Result<(), OAuthError> {
        self.0.execute("DELETE FROM requests WHERE ends <= ?", [now])?;
        if self.count("requests")? >= MAX_REQUESTS {
            self.0.execute("DELETE FROM requests WHERE id IN (SELECT id FROM requests ORDER BY ends LIMIT 100)", [])?;
        }
        let (text, ends) = (serde_json::to_string(request)?, now + REQUEST_LIFETIME);
        let values = params![sha256_hex(id), text, name, ends];
        self.0.execute("INSERT INTO requests (id, request, name, ends) VALUES (?, ?, ?, ?)", values)?;
        Ok(())
    }

    /// Returns an authorization that waits.
    pub(super) fn request(&mut self, id: &str, now: u64) -> Result<Option<PendingAuthorization>, OAuthError> {
        let query = "SELECT request, name FROM requests WHERE id = ? AND ends > ?";
        let found = self.0.query_row(query, params![sha256_hex(id), now], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
        });
        let Some((text, client_name)) = found.optional()? else { return Ok(None) };
        Ok(Some(PendingAuthorization { request: serde_json::from_str(&text)?, client_name }))
    }

    /// Counts a wrong password. Returns whether there are more tries; without, the authorization ends.
    pub(super) fn count_try(&mut self, id: &str) -> Result<bool, OAuthError> {
        self.0.execute("UPDATE requests SET tries = tries + 1 WHERE id = ?", [sha256_hex(id)])?;
        let ended =
            self.0.execute("DELETE FROM requests WHERE id = ? AND tries >= ?", params![sha256_hex(id), MAX_TRIES])?;
        Ok(ended == 0)
    }

    /// Ends an authorization. Returns whether it was there: of two answers at once, one counts.
    pub(super) fn end_request(&mut self, id: &str) -> Result<bool, OAuthError> {
        Ok(self.0.execute("DELETE FROM requests WHERE id = ?", [sha256_hex(id)])? > 0)
    }

    /// Keeps a new code, which begins a family of tokens.
    pub(super) fn keep_code(&mut self, code: &str, grant: &CodeGrant) -> Result<(), OAuthError> {
        let family = crate::random_id();
        self.keep(code, CODE, &family, (&grant.client_id, &serde_json::to_string(grant)?, ""), grant.expires_at)
    }

    /// Keeps a pair of tokens.
    pub(super) fn keep_pair(
        &mut self,
        family: &str,
        pair: &TokenPair,
        grant: &RefreshGrant,
        (access_ends, refresh_ends): (u64, u64),
    ) -> Result<(), OAuthError> {
        let (content, scopes) = (serde_json::to_string(grant)?, pair.scopes.join(" "));
        let content = (grant.client_id.as_str(), content.as_str(), scopes.as_str());
        self.keep(&pair.access_token, ACCESS, family, content, access_ends)?;
        if let Some(refresh) = &pair.refresh_token {
            self.keep(refresh, REFRESH, family, content, refresh_ends)?;
        }
        Ok(())
    }

    fn keep(
        &mut self,
        token: &str,
        kind: &str,
        family: &str,
        (client, content, scopes): (&str, &str, &str),
        ends: u64,
    ) -> Result<(), OAuthError> {
        let now = brumate_mcp_oauth::internal::now();
        self.0.execute("DELETE FROM tokens WHERE ends <= ?", [now])?;
        if self.count("tokens")? >= MAX_TOKENS {
            self.0.execute("DELETE FROM tokens WHERE hash IN (SELECT hash FROM tokens ORDER BY ends LIMIT 100)", [])?;
        }
        let query =
            "INSERT INTO tokens (hash, kind, family, client, content, scopes, ends) VALUES (?, ?, ?, ?, ?, ?, ?)";
        self.0.execute(query, params![sha256_hex(token), kind, family, client, content, scopes, ends])?;
        if kind == REFRESH {
            // A used code or token is kept as long as its successors, so that its second use revokes them.
            let query = "UPDATE tokens SET ends = ? WHERE family = ? AND kind != ? AND used = 1";
            self.0.execute(query, params![ends, family, ACCESS])?;
        }
        Ok(())
    }

    fn find(&self, kind: &str, client: Option<&str>, token: &str) -> Result<Option<Token>, OAuthError> {
        let query = "SELECT family, content, scopes, used, ends FROM tokens \
                     WHERE hash = ? AND kind = ? AND (?3 IS NULL OR client = ?3)";
        let found = self.0.query_row(query, params![sha256_hex(token), kind, client], |row| {
            Ok(Token {
                family: row.get(0)?,
                content: row.get(1)?,
                scopes: row.get(2)?,
                used: row.get(3)?,
                ends: row.get(4)?,
            })
        });
        Ok(found.optional()?)
    }

    /// Returns the grant of a code or a refresh token. Its second use revokes all tokens that came of it.
    fn load<T: DeserializeOwned>(&mut self, kind: &str, client: &str, token: &str) -> Result<Option<T>, OAuthError> {
        match self.find(kind, Some(client), token)? {
            Some(found) if found.used => {
                self.revoke_family(&found.family)?;
                tracing::warn!(client, kind, "it was used twice: the tokens that came of it are revoked");
                Ok(None)
            }
            Some(found) => Ok(Some(serde_json::from_str(&found.content)?)),
            None => Ok(None),
        }
    }

    /// Ends a code or a refresh token. Returns the family of its tokens.
    fn take(&mut self, kind: &str, client: &str, token: &str) -> Result<String, OAuthError> {
        let invalid = || OAuthError::invalid_grant("it was used meanwhile");
        let found = self.find(kind, Some(client), token)?.ok_or_else(invalid)?;
        if found.used {
            self.revoke_family(&found.family)?;
            return Err(invalid());
        }
        self.0.execute("UPDATE tokens SET used = 1 WHERE hash = ?", [sha256_hex(token)])?;
        Ok(found.family)
    }

    pub(super) fn load_code(&mut self, client: &str, code: &str) -> Result<Option<CodeGrant>, OAuthError> {
        self.load(CODE, client, code)
    }

    pub(super) fn take_code(&mut self, client: &str, code: &str) -> Result<String, OAuthError> {
        self.take(CODE, client, code)
    }

    pub(super) fn load_refresh_token(&mut self, client: &str, token: &str) -> Result<Option<RefreshGrant>, OAuthError> {
        self.load(REFRESH, client, token)
    }

    pub(super) fn take_refresh_token(&mut self, client: &str, token: &str) -> Result<String, OAuthError> {
        self.take(REFRESH, client, token)
    }

    /// Returns the grant of an access token, its scopes, and its end in seconds since 1970.
    pub(super) fn load_access_token(
        &mut self,
        token: &str,
        now: u64,
    ) -> Result<Option<(RefreshGrant, Vec<String>, u64)>, OAuthError> {
        let Some(found) = self.find(ACCESS, None, token)?.filter(|found| found.ends > now) else { return Ok(None) };
        let scopes = found.scopes.split_ascii_whitespace().map(str::to_owned).collect();
        Ok(Some((serde_json::from_str(&found.content)?, scopes, found.ends)))
    }

    /// Revokes a token of a client, and its family.
    pub(super) fn revoke(&mut self, client: &str, token: &str) -> Result<(), OAuthError> {
        for kind in [ACCESS, REFRESH] {
            if let Some(found) = self.find(kind, Some(client), token)? {
                self.revoke_family(&found.family)?;
            }
        }
        Ok(())
    }

    fn revoke_family(&mut self, family: &str) -> Result<(), OAuthError> {
        self.0.execute("DELETE FROM tokens WHERE family = ?", [family])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(id: usize, name: &str) -> OAuthClient {
        OAuthClient::public(format!("c{id:04}"), ["https://a.example/"]).with_name(name)
    }

    /// A flood of registrations removes the clients that nobody uses, and nothing else.
    #[test]
    fn registrations_without_tokens_are_removed_first() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(LAYOUT.tables).unwrap();
        connection.execute_batch(INDEXES).unwrap();
        let mut tables = Tables::begin(&mut connection).unwrap();
        tables.keep_client(&client(0, "of the operator"), 0).unwrap();
        let limits = ClientLimits { clients: 500, bytes: 100_000 };
        let register = |tables: &mut Tables<'_>, id: usize, name: &str, limits| {
            tables.keep_registration(&client(id, name).self_registered(), id as u64, limits)
        };
        register(&mut tables, 1, "in use", limits).unwrap();
        tables.keep("token", REFRESH, "f", ("c0001", "{}", ""), u64::MAX >> 1).unwrap();
        for id in 2..700 {
            register(&mut tables, id, "flood", limits).unwrap();
            assert!(tables.count("clients").unwrap() <= 500);
        }
        let has = |tables: &mut Tables<'_>, id: usize| tables.client(&client(id, "").id).unwrap().is_some();
        assert_eq!([0, 1, 2, 699].map(|id| has(&mut tables, id)), [true, true, false, true]);
        let held = |tables: &Tables<'_>| -> u64 {
            tables.0.query_row("SELECT sum(octet_length(client)) FROM clients", [], |row| row.get(0)).unwrap()
        };
        for id in 1000..1020 {
            register(&mut tables, id, &"x".repeat(20_000), limits).unwrap();
            assert!(held(&tables) <= 100_000, "{}", held(&tables));
        }
        assert_eq!([0, 1].map(|id| has(&mut tables, id)), [true, true]);
        // Where all clients are in use, the next one waits.
        let error = register(&mut tables, 3000, "one more", ClientLimits { clients: 2, ..limits }).unwrap_err();
        assert_eq!(error.code(), "temporarily_unavailable");
        assert_eq!([0, 1].map(|id| has(&mut tables, id)), [true, true]);
    }
}
