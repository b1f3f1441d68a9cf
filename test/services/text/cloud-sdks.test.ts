/** The vendors' own SDKs against the clouds of the tests, which must accept them, and refuse what the vendors refuse. */
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  InvokeModelWithResponseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { GoogleGenAI } from '@google/genai';
import { expect } from 'chai';
import { OAuth2Client } from 'google-auth-library';
import { AzureOpenAI } from 'openai';
import { openCredentials } from '../../../providers/credentials/open.ts';
import { AZURE_KEY, startClouds } from '../../support/clouds/clouds.ts';
import { AWS_KEY, AWS_KEY_ID } from '../../../lab/stack/clouds/token-services.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { useStarted } from '../../support/started.ts';

const SAY = 'Say exactly: hello';

describe('the clouds of the tests', () => {
  const clouds = useStarted(startClouds);
  const bedrock = (secretAccessKey: string): BedrockRuntimeClient =>
    new BedrockRuntimeClient({
      region: 'us-east-1',
      endpoint: clouds.url,
      maxAttempts: 1,
      // HTTP 1.1, which the fakes speak.
      requestHandler: new NodeHttpHandler(),
      credentials: { accessKeyId: AWS_KEY_ID, secretAccessKey },
    });

  it('accept Converse, ConverseStream and InvokeModelWithResponseStream of the SDK of AWS', async () => {
    const client = bedrock(AWS_KEY.secret);
    const modelId = 'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-v1:0';
    const messages = [{ role: 'user' as const, content: [{ text: SAY }] }];
    const whole = await client.send(new ConverseCommand({ modelId, messages }));
    expect(whole.output?.message?.content?.at(-1)?.text).to.equal('hello');
    expect(whole.usage?.inputTokens).to.be.greaterThan(0);
    const streamed = await client.send(new ConverseStreamCommand({ modelId, messages }));
    let text = '';
    for await (const event of streamed.stream ?? []) text += event.contentBlockDelta?.delta?.text ?? '';
    expect(text).to.equal('hello');
    const body = {
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 99,
      messages: [{ role: 'user', content: SAY }],
    };
    const invoked = await client.send(
      new InvokeModelWithResponseStreamCommand({
        modelId,
        body: JSON.stringify(body),
        contentType: 'application/json',
      }),
    );
    const types: string[] = [];
    for await (const { chunk } of invoked.body ?? [])
      types.push(Object(JSON.parse(Buffer.from(chunk?.bytes ?? []).toString())).type);
    expect(types).to.include.members(['message_start', 'content_block_delta', 'message_stop']);
  });

  it('refuse a wrong key and a wrong clock of the SDK of AWS', async () => {
    const command = new ConverseCommand({ modelId: 'a', messages: [{ role: 'user', content: [{ text: SAY }] }] });
    expect((await rejectionOf(bedrock('another').send(command))).name).to.equal('InvalidSignatureException');
    clouds.conduct.skewMs = 20 * 60_000;
    const error = await rejectionOf(bedrock(AWS_KEY.secret).send(command));
    clouds.conduct.skewMs = 0;
    expect(error.name).to.equal('InvalidSignatureException');
  });

  it('accept the SDK of Google on Vertex with a token of the service account, and refuse it without', async () => {
    const credentials = JSON.stringify(clouds.serviceAccount());
    const token_url = `${clouds.url}/tokens/google`;
    const scopes = ['https://www.googleapis.com/auth/cloud-platform'];
    const { authorization = '' } = await openCredentials({ google: { credentials, scopes, token_url } }).headersFor({
      method: 'POST',
      url: new URL(clouds.url),
      headers: {},
      body: '',
    });
    const ask = (token: string) => {
      const authClient = new OAuth2Client();
      authClient.setCredentials({ access_token: token, expiry_date: Date.now() + 3_600_000 });
      const google = new GoogleGenAI({
        vertexai: true,
        project: 'project-1',
        location: 'europe-west1',
        httpOptions: { baseUrl: clouds.url, apiVersion: 'v1' },
        googleAuthOptions: { authClient },
      });
      return google.models.generateContent({ model: 'gemini-2.5-pro', contents: SAY });
    };
    expect((await ask(authorization.replace('Bearer ', ''))).text).to.equal('hello');
    expect((await rejectionOf(ask('another'))).message).to.include('UNAUTHENTICATED');
  });

  it('accept the SDK of OpenAI with Azure’s dated addresses', async () => {
    const ask = (apiKey: string) =>
      new AzureOpenAI({
        endpoint: clouds.url,
        apiKey,
        apiVersion: '2024-10-21',
        deployment: 'my-deployment',
        maxRetries: 0,
      }).chat.completions.create({ model: 'x', messages: [{ role: 'user', content: SAY }] });
    expect((await ask(AZURE_KEY)).choices[0]?.message.content).to.equal('hello');
    expect((await rejectionOf(ask('another'))).message).to.include('401');
  });
});
