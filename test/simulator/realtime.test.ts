import { expect } from 'chai';
import { createSimulator, type Simulator } from '../../simulator/simulator.ts';
import { openRealtime, speak, type TestSession } from '../support/realtime.ts';

describe('The simulator’s realtime sessions', () => {
  let simulator: Simulator;
  let session: TestSession;
  beforeEach(async () => {
    simulator = createSimulator();
    const baseUrl = await simulator.listen(0, '127.0.0.1');
    session = await openRealtime(`${baseUrl}/v1/realtime?model=demo`, { bearer: 'any' });
  });
  afterEach(async () => {
    session.close();
    await simulator.close();
  });

  it('call no function in a response that speech interrupts', async () => {
    const tools = [{ type: 'function', name: 'clock', parameters: {} }];
    session.send({ type: 'session.update', session: { instructions: '[sim:tool=clock,delay_ms=60000]', tools } });
    session.send({ type: 'response.create' });
    speak(session);
    const { response } = await session.next('response.done');
    expect(response).to.deep.include({ status: 'cancelled', output: [] });
    expect(session.events.map(({ type }) => type)).not.to.include('response.function_call_arguments.done');
  });

  it('refuse the result of a call that was not made, and go on', async () => {
    session.send({
      type: 'conversation.item.create',
      item: { type: 'function_call_output', call_id: 'call_unknown', output: '1' },
    });
    const { error } = await session.next('error');
    expect(error).to.include({ type: 'invalid_request_error', code: 'invalid_tool_call_id' });
    const { response } = await session.ask('[sim:say=Hello]');
    expect(response).to.include({ status: 'completed' });
  });
});
