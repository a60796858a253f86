// The one place that talks to the server.

const tokenKey = 'ttlproxy.token';

export const token = () => sessionStorage.getItem(tokenKey);
export const forgetToken = () => sessionStorage.removeItem(tokenKey);

/** useToken keeps a token for as long as this tab is open, if the server knows it. */
export async function useToken(value) {
  await request('GET', 'token', undefined, value);
  sessionStorage.setItem(tokenKey, value);
}

export const get = path => request('GET', path);
export const post = (path, body) => request('POST', path, body ?? {});

async function request(method, path, body, bearer = token()) {
  const headers = { Accept: 'application/json' };
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const response = await fetch(`api/v1/${path}`, {
    method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal: AbortSignal.timeout(20_000),
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  if (response.status === 401 && bearer === token()) forgetToken();
  throw new Error(answer.error ?? `the server answered ${response.status}`);
}
