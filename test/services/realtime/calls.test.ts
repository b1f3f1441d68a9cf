import { expect } from 'chai';
import { webRtcRoutes } from '../../../services/realtime/calls.ts';
import { CATALOGUE } from '../../support/catalogue.ts';

describe('routes of calls', () => {
  it('are those with WebRTC, and a model without one answers transport_not_allowed', () => {
    // contract 4.16:29
    const model = CATALOGUE.textModels.get('demo-realtime');
    if (model === undefined) throw new Error('the catalogue has the model');
    const [route] = model.routes;
    if (route === undefined) throw new Error('the model has a route');
    const without = { ...route, webrtc: false };
    expect(webRtcRoutes({ ...model, routes: [without, route] })).to.deep.equal([route]);
    expect(() => webRtcRoutes({ ...model, routes: [without] }))
      .to.throw('WebSocket')
      .with.property('code', 'transport_not_allowed');
  });
});
