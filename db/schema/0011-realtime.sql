-- Client secrets of realtime sessions: contract 4.16. Only the SHA-256 of a secret is stored.

CREATE TABLE realtime_secrets (
  id text COLLATE "C" PRIMARY KEY,
  digest bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  api_key_id text COLLATE "C" NOT NULL REFERENCES api_keys,
  model text NOT NULL,
  -- The settings of its sessions, such as instructions.
  encrypted_settings bytea NOT NULL,
  allowed_origins text[] NOT NULL,
  transports text[] NOT NULL CHECK (transports <@ ARRAY['websocket', 'webrtc']),
  session_seconds integer NOT NULL CHECK (session_seconds BETWEEN 1 AND 3600),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX realtime_secrets_by_expiry ON realtime_secrets (expires_at);
CREATE INDEX realtime_secrets_by_account ON realtime_secrets (account_id, created_at);
