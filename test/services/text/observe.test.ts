import { expect } from 'chai';
import { modelVia, useTestText } from '../../support/text.ts';

describe('a text request', () => {
  const text = useTestText();

  it('is measured under its endpoint, not under its path', async () => {
    await (await text.ask('generate-content', modelVia('messages'), 'Hi')).text();
    await (await text.ask('messages', 'nothing', 'Hi')).text();
    await fetch(`${text.baseUrl}/v1/messages`, { method: 'BREW' }).catch(() => null);
    const measured = await text.measured();
    expect(measured).to.match(
      /duration_seconds_count\{method="POST",route="\/v1beta\/models\/\{model\}:generateContent",status="200"\} 1/,
    );
    expect(measured).to.match(/duration_seconds_count\{method="POST",route="\/v1\/messages",status="404"\} 1/);
    expect(measured).to.not.contain('BREW');
  });

  it('leaves a line in the log without any of its content when it is refused', async () => {
    const response = await text.ask('responses', 'nothing', 'a secret wish');
    const id = response.headers.get('x-request-id') ?? '';
    await response.text();
    const lines = text.logged().split('\n');
    expect(lines.find((line) => line.includes(id)))
      .to.contain('"status":404')
      .and.contain('"route":"/v1/responses"');
    expect(text.logged()).to.not.contain('secret wish').and.not.contain(text.apiKey);
  });
});
