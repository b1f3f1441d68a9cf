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

-- Calls over WebRTC: sessions whose audio does not pass through Genway. A process follows each call; if the process dies,
-- another process ends the call.
CREATE TABLE realtime_calls (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  api_key_id text COLLATE "C" NOT NULL REFERENCES api_keys,
  model text NOT NULL,
  -- The upstream, the end of its key, and its own id of the call.
  provider text NOT NULL,
  key_hint text NOT NULL,
  upstream_call_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  -- Until then a process follows the call, unless the process extends the time.
  followed_until timestamptz NOT NULL,
  hang_up_requested_at timestamptz,
  ended_at timestamptz
);
CREATE INDEX realtime_calls_in_progress ON realtime_calls (followed_until) WHERE ended_at IS NULL;
CREATE INDEX realtime_calls_by_expiry ON realtime_calls (expires_at);
