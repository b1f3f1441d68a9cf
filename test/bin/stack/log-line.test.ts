import { expect } from 'chai';
import { formatLogLine } from '../../../bin/stack/log-line.ts';

describe('a log line in the terminal', () => {
  it('shows time, level, message and fields of a structured line, after the name of the process', () => {
    const entry = { level: 40, time: 0, pid: 7, hostname: 'here', name: 'api', port: 80, path: '/x', msg: 'slow' };
    expect(formatLogLine('api', JSON.stringify(entry))).to.equal('api       00:00:00.000 warn  slow port=80 path=/x');
  });

  it('stays one line without control characters, whatever its content', () => {
    const entry = { level: 40, time: 0, user_agent: 'a\napi  forged\u001b[2K', msg: 'x\r\u009b31m\u202e' };
    const line = formatLogLine('api', JSON.stringify(entry));
    expect(line).to.equal(
      String.raw`api       00:00:00.000 warn  x\u000d\u009b31m\u202e user_agent=a\u000aapi  forged\u001b[2K`,
    );
    expect(formatLogLine('api', 'plain\u001b]0;title\u0007')).to.equal(String.raw`api       plain\u001b]0;title\u0007`);
  });

  for (const line of ['plain text', '', '{"level":30}', '[1]', 'null', '{']) {
    it(`shows ${JSON.stringify(line)} unchanged`, () => {
      expect(formatLogLine('worker', line)).to.equal(`worker    ${line}`);
    });
  }
});
